"""Settings of the server, from the command line or the environment (`ITAL_…`)."""

from __future__ import annotations

import ipaddress
import secrets

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MEGABYTE = 1 << 20


class ServerSettings(BaseSettings):
    """Who may come in, and how much."""

    model_config = SettingsConfigDict(env_prefix="ITAL_")

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    allowed_hosts: tuple[str, ...] = ()
    """Names, beside that of ``host``, by which the server may be called."""
    token: SecretStr | None = None
    """Needed by everyone who is not on this machine; made up if none is given."""
    database: str | None = None
    """An address for SQLAlchemy; a SQLite file in the user's data folder if none is given."""
    upload_bytes: int = Field(default=64 * MEGABYTE, ge=1)
    memory_bytes: int = Field(default=2048 * MEGABYTE, ge=0)
    """For searches, beyond the features. Those used least recently leave it first."""

    @model_validator(mode="after")
    def _strangers_need_a_token(self) -> ServerSettings:
        if self.token is None and not self.is_loopback:
            self.token = SecretStr(secrets.token_urlsafe(24))
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
