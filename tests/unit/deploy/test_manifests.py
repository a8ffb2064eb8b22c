"""Compose file, image and manifests run what the Procfile lists, with settings that exist, safely and pinned."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import __version__
from app.metrics import registry
from app.redis_store.broker import QUEUES
from app.services.webhooks.deliveries import BUDGET_S
from app.webhooks.sender import TIMEOUT_S
from config.servers import MYSQL_PORT, SENTINEL_PORT, Sentinels, hosts_of
from config.settings import declared
from tests.support.deployment import procfile

DEPLOY = Path(__file__).parents[3] / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
OURS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}
THEIRS = {name: service for name, service in COMPOSE["services"].items() if "build" not in service}
MANIFESTS: list[dict[str, Any]] = [
    document
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
]
VARIABLES = {field.metadata["env"] for field in declared()}
KNOWN = VARIABLES | {f"{name}_FILE" for name in VARIABLES}
IMAGES = dict(line.split("=", 1) for line in (DEPLOY / "images").read_text().split())
PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+(-\w+)*")
# The run a caller waits for, and what is around it.
CALL_S = next(field.default for field in declared() if field.metadata["env"] == "REPRISE_RUN_CALL_S") + 120
STOP_S = {"web": 30, "spans": 60, "runs": CALL_S, "webhooks": BUDGET_S + TIMEOUT_S}


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [manifest for manifest in MANIFESTS if manifest["kind"] == kind]


def pods() -> dict[str, dict[str, Any]]:
    """The pod of each of our processes."""
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in of_kind("Deployment") + of_kind("Job")}


def release(name: str) -> str:
    return "release" if name == "migrate" else name


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.M)


def test_compose_and_kubernetes_run_every_process_of_the_procfile() -> None:
    expected = procfile()
    assert {release(name): service["command"] for name, service in OURS.items()} == expected
    assert {release(name): pod["containers"][0]["command"] for name, pod in pods().items()} == expected


def test_every_queue_has_its_worker() -> None:
    assert set(QUEUES) <= set(OURS)
    assert set(QUEUES) <= set(pods())


def test_the_image_serves_the_web_by_itself() -> None:
    assert instructions("CMD")[-1] == str(procfile()["web"]).replace("'", '"')


@pytest.mark.parametrize("name", OURS)
def test_compose_sets_variables_that_exist(name: str) -> None:
    assert set(OURS[name]["environment"]) <= KNOWN


def test_kubernetes_sets_variables_that_exist() -> None:
    data = of_kind("ConfigMap")[0]["data"]
    assert set(data) <= KNOWN
    files = {Path(value).name for name, value in data.items() if name.endswith("_FILE")}
    assert files == set(of_kind("Secret")[0]["stringData"])


def test_the_image_sets_variables_that_exist() -> None:
    ours = {name for line in instructions("ENV") for name in re.findall(r"(\w+)=", line) if name.startswith("REPRISE_")}
    assert ours
    assert ours <= KNOWN


def test_secrets_are_files_and_never_in_the_environment() -> None:
    secret = {field.metadata["env"] for field in declared() if field.metadata["secret"]}
    for environment in [*(service["environment"] for service in OURS.values()), of_kind("ConfigMap")[0]["data"]]:
        assert not secret & set(environment)
        for name, value in environment.items():
            assert name.endswith("_FILE") == value.startswith("/run/secrets/"), name
    given = {Path(value).name for name, value in OURS["web"]["environment"].items() if name.endswith("_FILE")}
    assert given == set(OURS["web"]["secrets"])
    assert given <= set(COMPOSE["secrets"])


def test_the_example_secret_shows_several_servers_as_the_documentation_does() -> None:
    example = (DEPLOY / "kubernetes" / "secret.example.yaml").read_text()
    several = yaml.safe_load(re.sub(r"^  # (?=\w+_url: )", "  ", example, flags=re.M))["stringData"]
    assert set(several) == set(of_kind("Secret")[0]["stringData"])
    _, hosts = hosts_of(several["database_url"], MYSQL_PORT)
    assert hosts == [(f"db{number}", MYSQL_PORT) for number in (1, 2, 3)]
    sentinels = [(f"sentinel{number}", SENTINEL_PORT) for number in (1, 2, 3)]
    assert Sentinels.in_url(several["redis_url"]) == Sentinels(sentinels, "reprise", 0, None, "CHANGE-ME")
    documented = (DEPLOY.parent / "docs" / "deploy.md").read_text().replace(":secret@", ":CHANGE-ME@")
    assert f"DATABASE_URL={several['database_url']}\nREDIS_URL={several['redis_url']}\n" in documented


@pytest.mark.parametrize("image", IMAGES.values())
def test_the_tags_that_are_resolved_to_digests_are_exact(image: str) -> None:
    assert PINNED.fullmatch(image)


def test_compose_starts_no_image_that_was_not_resolved() -> None:
    asked = [service["image"] for service in THEIRS.values()] + [OURS["web"]["build"]["args"]["PYTHON_IMAGE"]]
    names = [re.fullmatch(r"\$\{(\w+):\?run ./pin-images first\}", image) for image in asked]
    assert {name[1] for name in names if name} == set(IMAGES)
    assert all(names)
    assert instructions("ARG")[0] == f"PYTHON_IMAGE={IMAGES['REPRISE_PYTHON_IMAGE']}"


def test_the_image_is_built_in_two_stages_and_has_no_compiler() -> None:
    assert [line.split()[0] for line in instructions("FROM")] == ["${PYTHON_IMAGE}"] * 2
    assert PINNED.fullmatch(instructions("ARG")[0].removeprefix("PYTHON_IMAGE="))
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    installed = re.findall(r"apt-get install ([^&]+)", final)
    assert installed
    assert not re.search(r"gcc|g\+\+|build-essential|make|-dev|pkg-config", " ".join(installed))
    assert "pip install" not in final


def test_the_image_runs_as_an_ordinary_user_and_is_checked() -> None:
    user = instructions("USER")[-1].split(":")[0]
    assert int(user) >= 1000
    assert DOCKERFILE.rindex("\nUSER ") > DOCKERFILE.rindex("\nRUN ")
    assert "/health/live" in instructions("HEALTHCHECK")[0]
    for pod in pods().values():
        assert pod["securityContext"]["runAsUser"] == int(user)


def test_what_apt_and_pip_fetched_stays_out_of_the_layers() -> None:
    for line in instructions("RUN"):
        assert "apt-get install" not in line or (
            "--no-install-recommends" in line and "rm -rf /var/lib/apt/lists/* /var/cache/apt/*" in line
        )
    assert "PIP_NO_CACHE_DIR=1" in DOCKERFILE


def test_what_is_copied_into_the_image_exists_and_is_not_ignored() -> None:
    allowed = set((DEPLOY.parent / ".dockerignore").read_text().split())
    for line in instructions("COPY"):
        if not line.startswith("--from"):
            for source in shlex.split(line)[:-1]:
                assert (DEPLOY.parent / source).exists()
                assert f"!{source.rstrip('/')}" in allowed


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_compose_services_have_no_more_rights_than_they_need(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "proxy" else [])
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["pids_limit"]
    assert not service.get("privileged")


@pytest.mark.parametrize("name", sorted(set(COMPOSE["services"]) - {"migrate"}))
def test_compose_services_have_a_limit_of_memory(name: str) -> None:
    assert COMPOSE["services"][name]["mem_limit"]


@pytest.mark.parametrize("name", ["mysql", "redis"])
def test_servers_of_others_run_as_an_ordinary_user(name: str) -> None:
    assert int(THEIRS[name]["user"].split(":")[0]) > 0


@pytest.mark.parametrize("name", pods())
def test_pods_have_no_more_rights_than_they_need(name: str) -> None:
    pod = pods()[name]
    [container] = pod["containers"]
    context = container["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert context["readOnlyRootFilesystem"]
    assert not context["allowPrivilegeEscalation"]
    assert context["capabilities"]["drop"] == ["ALL"]
    assert container["resources"]["limits"]["memory"]
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}


@pytest.mark.parametrize("name", STOP_S)
def test_processes_get_the_time_they_need_to_stop(name: str) -> None:
    assert pods()[name]["terminationGracePeriodSeconds"] > STOP_S[name]
    assert int(OURS[name]["stop_grace_period"].removesuffix("s")) > STOP_S[name]


def test_a_release_with_workers_that_end_at_once_is_not_rolled_out() -> None:
    for queue in QUEUES:
        [deployment] = [one for one in of_kind("Deployment") if one["metadata"]["name"] == queue]
        assert deployment["spec"]["minReadySeconds"] >= 10
        assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_web_has_room_for_all_its_threads() -> None:
    defaults = {field.metadata["env"]: field.default for field in declared()}
    assert OURS["web"]["pids_limit"] > defaults["REPRISE_WEB_PROCESSES"] * defaults["REPRISE_WEB_THREADS"]


def test_web_joins_when_ready_and_leaves_before_it_stops() -> None:
    [web] = pods()["web"]["containers"]
    assert web["startupProbe"]["httpGet"]["path"] == "/health/ready"
    assert web["livenessProbe"]["httpGet"]["path"] == "/health/live"
    assert web["readinessProbe"]["httpGet"]["path"] == "/health/live"
    leaving_s = int(web["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pods()["web"]["terminationGracePeriodSeconds"] > leaving_s + STOP_S["web"]


def test_selectors_find_their_pods() -> None:
    labels = {one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"] for one in of_kind("Deployment")}
    for one in of_kind("Deployment") + of_kind("PodDisruptionBudget"):
        assert one["spec"]["selector"]["matchLabels"] == labels[one["metadata"]["name"]]
    assert of_kind("Service")[0]["spec"]["selector"] == labels["web"]


def test_workers_scale_on_the_age_of_their_queue() -> None:
    scaled = {
        one["spec"]["scaleTargetRef"]["name"]: one["spec"]["triggers"][0]["metadata"] for one in of_kind("ScaledObject")
    }
    assert set(scaled) == set(QUEUES)
    for queue, trigger in scaled.items():
        assert trigger["query"] == f'max({registry.QUEUE_OLDEST.name}{{queue="{queue}"}})'
    assert all(
        "replicas" not in one["spec"] for one in of_kind("Deployment") if one["metadata"]["name"] in {*scaled, "web"}
    )


def test_no_fallback_that_keda_refuses() -> None:
    """Before 2.18: "Fallback can only be enabled for triggers with metric of type AverageValue"."""
    for one in of_kind("ScaledObject"):
        assert one["spec"]["triggers"][0]["metricType"] == "Value"
        assert "fallback" not in one["spec"]


def test_two_of_every_worker_keep_a_queue_served_while_one_is_replaced() -> None:
    assert all(one["spec"]["minReplicaCount"] >= 2 for one in of_kind("ScaledObject"))
    assert of_kind("HorizontalPodAutoscaler")[0]["spec"]["minReplicas"] >= 2


def test_kustomize_lists_every_manifest_but_the_example() -> None:
    listed = set(of_kind("Kustomization")[0]["resources"])
    there = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")}
    assert listed == there - {"kustomization.yaml", "secret.example.yaml"}


def test_kustomize_deploys_this_version() -> None:
    assert of_kind("Kustomization")[0]["images"][0]["newTag"] == __version__


def test_redis_never_evicts() -> None:
    command = THEIRS["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def in_bytes(size: str) -> int:
    """Of `1gb`, as Redis has it, or `1536m`, as compose has it."""
    return int(size.rstrip("gmb")) * {"g": 2**30, "m": 2**20}[size.rstrip("b")[-1]]


def test_redis_has_room_for_the_batches_that_may_wait_and_a_machine_for_redis() -> None:
    backlog = next(one.default for one in declared() if one.metadata["env"] == "REPRISE_INGEST_BACKLOG_BYTES")
    command = THEIRS["redis"]["command"]
    most = in_bytes(command[command.index("--maxmemory") + 1])
    assert backlog <= most / 2
    assert most <= in_bytes(THEIRS["redis"]["mem_limit"]) * 3 / 4


def test_redis_wants_a_password_that_is_in_no_argument() -> None:
    redis = THEIRS["redis"]
    assert redis["command"][:2] == ["redis-server", "/run/secrets/redis_conf"]
    assert redis["secrets"] == ["redis_conf"]
    assert "redis_url" in OURS["web"]["secrets"]
    assert re.fullmatch(r"redis://:[^@]+@.+", of_kind("Secret")[0]["stringData"]["redis_url"])


def test_only_the_proxy_is_reachable() -> None:
    assert [name for name, service in COMPOSE["services"].items() if "ports" in service] == ["proxy"]


def test_the_proxy_reaches_only_web_and_mysql_and_redis_reach_nothing_outside() -> None:
    networks = {name: set(service["networks"]) for name, service in COMPOSE["services"].items()}
    assert {name for name, joined in networks.items() if "edge" in joined} == {"proxy", "web"}
    assert networks["proxy"] == {"edge"}
    assert networks["mysql"] == networks["redis"] == {"data"}
    assert COMPOSE["networks"]["data"]["internal"]


def test_what_calls_no_other_service_has_no_way_out() -> None:
    outside = {name for name, service in OURS.items() if set(service["networks"]) - {"data"}}
    assert outside == {"web", "runs", "replays", "webhooks"}


def test_pods_are_reached_only_by_web_on_its_port() -> None:
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind("NetworkPolicy")}
    assert policies["nobody"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    assert policies["web"]["podSelector"]["matchLabels"] == of_kind("Service")[0]["spec"]["selector"]
    assert [rule["ports"] for rule in policies["web"]["ingress"]] == [[{"port": 8000, "protocol": "TCP"}]]


def test_pods_reach_no_clouds_metadata() -> None:
    [rule] = next(one for one in of_kind("NetworkPolicy") if one["metadata"]["name"] == "no-metadata")["spec"]["egress"]
    assert "169.254.169.254/32" in rule["to"][0]["ipBlock"]["except"]
