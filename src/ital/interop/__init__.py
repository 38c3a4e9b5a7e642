"""Our strategies in other people's programs. Each module needs the library that it is named for."""
