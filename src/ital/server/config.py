"""Settings of the server, from the command line or the environment (`ITAL_…`)."""

from __future__ import annotations

import ipaddress
import re
import secrets
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ital.collection.pictures import MAX_PIXELS

MEGABYTE = 1 << 20


def _check_token(token: SecretStr) -> SecretStr:
    # It goes into an address and a cookie as it is.
    if not re.fullmatch(r"[A-Za-z0-9._~-]{8,}", token.get_secret_value()):
        raise ValueError("must be 8 or more of A-Z, a-z, 0-9 and . _ ~ -")
    return token


class ServerSettings(BaseSettings):
    """Who may come in, and how much."""

    model_config = SettingsConfigDict(
        env_prefix="ITAL_", env_ignore_empty=True, hide_input_in_errors=True
    )

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    allowed_hosts: tuple[str, ...] = ()
    """Names, beside that of ``host``, by which the server may be called."""
    token: Annotated[SecretStr, AfterValidator(_check_token)] | None = None
    """Needed by everyone who is not on this machine; made up if none is given."""
    database: str | None = None
    """An address for SQLAlchemy; a SQLite file in the user's data folder if none is given."""
    ray: str | None = None
    """The address of a Ray cluster, on which searches are then; ``local`` starts one here."""
    stacks: bool = True
    """Whether pictures that show the same thing are asked about, and shown, as one."""
    idle_seconds: int = Field(default=20, ge=1)
    """How long a connection may keep us waiting for a request, or for the next part of its body."""
    upload_bytes: int = Field(default=64 * MEGABYTE, ge=1)
    upload_pixels: int = Field(default=100_000_000, ge=1, le=MAX_PIXELS)
    """What is kept of an uploaded picture has a few hundred on each side."""
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
