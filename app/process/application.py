"""The Falcon app of the web process: the API and the pages on one route table, behind one chain of middleware."""

from __future__ import annotations

import falcon
import falcon.media
import orjson

from app.api import routes as api
from app.api.authentication import Authentication
from app.api.kept_answers import KeptAnswers
from app.api.operation import kept_routes
from app.api.refused_batches import RefusedBatches
from app.concurrency.quotas import Quota
from app.http import errors
from app.http.answers import AnswersAtOnce
from app.http.compression import Compression
from app.http.exports import EXPORTS_PER_ORGANIZATION
from app.http.large_requests import LargeRequests
from app.http.middleware import (
    BodiesAtOnce,
    Bulkhead,
    Deadlines,
    Forwarded,
    HeadLength,
    OneLeadingSlash,
    RequestId,
    RequestMetrics,
    SecurityHeaders,
)
from app.http.route_table import RoutedApp
from app.metrics.registry import SHARE_REFUSED
from app.network.proxies import TrustedProxies, parse_networks
from app.web import routes as pages
from app.web.assets import Assets
from app.web.presenters.api_docs import api_docs
from app.web.templating import environment
from app.wiring.container import Container


def build_app(container: Container) -> RoutedApp:
    """Return the WSGI app; raise `UndeclaredAccess` for a route that does not declare who may call it."""
    settings, keys = container.settings, container.services.keys
    app = RoutedApp(
        middleware=[
            RequestMetrics(container.metrics),
            AnswersAtOnce(on_refused=lambda: container.metrics.count(SHARE_REFUSED, "answers")),
            Deadlines(settings.request_s),
            HeadLength(),
            Compression(),
            Forwarded(TrustedProxies(parse_networks(settings.trusted_proxies))),
            RequestId(),
            SecurityHeaders(settings.public_url),
            RefusedBatches(container.services.refusals),
            OneLeadingSlash(),
            BodiesAtOnce(on_refused=lambda: container.metrics.count(SHARE_REFUSED, "bodies")),
            Authentication(
                keys=keys,
                limiter=container.limiter,
                programs=container.services.programs,
                metrics_token=settings.metrics_token,
            ),
        ],
        cors_enable=False,
    )
    # Trailing slashes are not significant, and a "+" in a query is a space.
    app.req_options.strip_url_path_trailing_slash = True
    app.req_options.auto_parse_form_urlencoded = False
    app.req_options.keep_blank_qs_values = True
    app.resp_options.media_handlers[falcon.MEDIA_JSON] = falcon.media.JSONHandler(dumps=orjson.dumps)
    errors.install(app)
    assets = Assets()
    templates = environment(assets=assets, now=container.now)
    docs = templates.get_template("api_docs.html")
    api.install(app, container, docs_page=lambda document: docs.render(page=api_docs(document)))
    pages.install(app, container, assets, templates)
    # After the pages' middleware, which sets the organization.
    app.add_middleware(bulkheads(container))
    app.add_middleware(LargeRequests(on_refused=lambda: container.metrics.count(SHARE_REFUSED, "large_requests")))
    app.front = KeptAnswers(
        kept_routes(app.routes),
        keys=keys,
        limiter=container.limiter,
        metrics=container.metrics,
        within_s=settings.request_s,
    )
    return app


def bulkheads(container: Container) -> list[Bulkhead]:
    """Limit the threads of this process for slow requests.

    Runs get 80 % of the threads, batches 15 %, followers of experiments 2.5 %.
    """
    settings, count = container.settings, container.metrics.count
    threads, percent = settings.web_threads, settings.organization_share
    runs = Quota.within(threads * 4 // 5, percent, places=settings.run_places)
    followed = Quota.within(max(1, threads // 40), percent)
    batches = Quota.within(threads * 3 // 20, percent, places=settings.ingest_backlog)
    return [
        Bulkhead(runs, on_refused=lambda: count(SHARE_REFUSED, "runs")),
        Bulkhead(batches, kind="stores", noun="batches", on_refused=lambda: count(SHARE_REFUSED, "batches")),
        Bulkhead(followed, kind="follows", noun="followers", on_refused=lambda: count(SHARE_REFUSED, "follows")),
        Bulkhead(
            Quota.of(EXPORTS_PER_ORGANIZATION, percent),
            kind="exports",
            noun="exports",
            on_refused=lambda: count(SHARE_REFUSED, "exports"),
        ),
    ]
