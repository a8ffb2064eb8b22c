"""Limits of sign-ins at an OpenID provider, so that strangers with made-up codes do not lock out other people."""

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
    """Limits of failed sign-ins per minute: of codes that the provider refuses, or does not answer.

    `network` counts attempts by network, for devices without an earlier sign-in. `account` counts attempts by account,
    for devices with one. `attempt` refuses the second return of an attempt. `places` limits concurrent requests to the
    provider.
    """

    network: AttemptLimiter
    account: AttemptLimiter
    attempt: AttemptLimiter
    places: ProviderPlaces = field(default_factory=ProviderPlaces)

    @contextmanager
    def asking(self, caller: SignInCaller) -> Iterator[None]:
        """Hold one of `places` during the block, which sends a request to the provider.

        The time of the block does not count towards the deadline of the caller's request.
        """
        with deadline.paused(), self.places.of(caller):
            yield

    @contextmanager
    def returning(self, attempt: OpenIdAttempt, caller: SignInCaller) -> Iterator[None]:
        """Count an attempt before the block, in which the provider checks its code; uncount it if the block succeeds.

        Raises `RateLimited`, `Unauthorized` for the second return of an attempt, and `Unavailable` without a free
        place. These are raised before the block, and the attempt is not counted.
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
