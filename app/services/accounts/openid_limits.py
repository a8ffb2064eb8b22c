"""Limits of sign-ins at an OpenID provider, so that strangers with made-up codes stop no other person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from app.concurrency import deadline
from app.encryption import digest
from app.errors import ServiceError, Unauthorized
from app.network.openid import OpenIdAttempt
from app.redis_store.rate import AttemptLimiter
from app.services.accounts.passwords import count_attempt
from app.services.accounts.provider_places import ProviderPlaces, SignInCaller


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIdLimits:
    """Limits of codes that the provider refuses or does not answer, per minute.

    `network` counts strangers by network, `account` counts devices that an account signed in with before. `attempt`
    lets each attempt return once.
    """

    network: AttemptLimiter
    account: AttemptLimiter
    attempt: AttemptLimiter
    places: ProviderPlaces = field(default_factory=ProviderPlaces)

    @contextmanager
    def asking(self, caller: SignInCaller) -> Iterator[None]:
        """Hold a place at the provider during the block. The request's deadline does not count its time."""
        with deadline.paused(), self.places.of(caller):
            yield

    @contextmanager
    def returning(self, attempt: OpenIdAttempt, caller: SignInCaller) -> Iterator[None]:
        """Count a code before the block, which asks the provider, and uncount it if the block succeeds.

        `RateLimited`, `Unauthorized` for the second return of an attempt, and `Unavailable` without a free place are
        raised before the block, and do not count.
        """
        limiter = self.account if caller.known else self.network
        key = f"sign-in:openid:{caller.key}"
        with ExitStack() as uncount:
            uncount.callback(limiter.give_back, key, count_attempt(limiter, key))
            if not self.attempt.hit(f"sign-in:openid:attempt:{digest(attempt.state).hex()}").allowed:
                raise Unauthorized("This sign-in came back before. Sign in again.")
            with self.asking(caller):
                try:
                    yield
                except ServiceError:
                    uncount.pop_all()
                    raise
