"""Programs that only read with their arguments, as their manuals have them; all that changes something writes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.replay.call_effects import call_reads
from app.replay.shell_commands import command_reads
from app.replay.tables import TABLES

PROGRAMS = TABLES["programs"]
READING = [(program, sub) for program, subs in PROGRAMS["subcommands"].items() for sub in subs.split()]
# Subcommands that change something, by the programs' manuals.
WRITING = {
    "git": """add am apply bisect checkout cherry-pick clean clone commit config fetch gc init merge mv prune pull push
        rebase reset restore revert rm switch update-ref filter-branch archive""",
    "git remote": "add remove rename set-url prune update",
    "git stash": "push pop apply drop clear",
    "kubectl": """annotate apply attach autoscale cordon cp create debug delete drain edit expose label patch
        port-forward proxy replace run scale set taint uncordon""",
    "kubectl rollout": "undo restart pause resume",
    "kubectl config": "set set-context use-context delete-context unset rename-context",
    "docker": "build commit cp create kill load pause pull push restart rm rmi run start stop tag unpause update wait",
    "docker compose": "up down build create kill pull push restart rm run start stop",
    "docker volume": "create rm prune",
    "docker system": "prune",
    "systemctl": "start stop restart reload enable disable mask unmask kill daemon-reload edit isolate poweroff reboot",
    "npm": "install uninstall update publish run test start exec ci link",
    "pip": "install uninstall download wheel",
    "helm": "install upgrade uninstall rollback",
    "terraform": "apply destroy import init taint untaint refresh",
    "terraform state": "rm mv push",
    "gh pr": "create merge close comment edit review reopen ready",
    "gh run": "cancel rerun delete download",
    "aws s3": "cp mv rm sync mb rb",
    "aws ec2": "run-instances terminate-instances stop-instances start-instances reboot-instances create-tags",
    "aws s3api": "put-object delete-object delete-bucket get-object",
    "aws sqs": "send-message receive-message delete-message purge-queue",
    "gcloud compute instances": "create delete start stop reset",
    "gcloud sql instances": "create delete restart patch",
    "gcloud config": "set unset",
    "gcloud config configurations": "activate create delete",
    "gcloud scheduler jobs": "run pause resume",
    "gcloud compute instance-groups managed": "recreate-instances abandon-instances wait-until",
    "gcloud": "init survey abcdef",
    "gcloud functions": "deploy call",
    "gcloud secrets versions": "enable disable destroy",
    "gcloud beta pubsub topics": "publish create",
    "az vm": "start deallocate redeploy generalize",
    "az webapp": "up restart swap",
    "doctl compute droplet": "create delete tag",
    "doctl compute": "ssh abcdef",
    "doctl apps": "create upgrade restart",
    "gh": "browse co abcdef",
    "glab": "check-update abcdef",
    "argocd": "login logout context relogin",
    "btrfs": "restore send receive check rescue",
}
REST = st.lists(st.sampled_from(["web-1", "-n", "shop", "list", "get", "status", "-a", "show"]), max_size=4)


@given(st.sampled_from(READING), REST)
def test_a_subcommand_that_reads_reads_with_words_after_it(command: tuple[str, str], rest: list[str]) -> None:
    assert command_reads(" ".join([*command, *rest]))


@pytest.mark.slow
@given(st.sampled_from([(program, sub) for program, subs in WRITING.items() for sub in subs.split()]), REST)
@settings(max_examples=600)
def test_a_subcommand_that_changes_something_writes_whatever_follows(command: tuple[str, str], rest: list[str]) -> None:
    assert not command_reads(" ".join([*command, *rest]))
    assert not command_reads(" ".join(["sudo", *command, *rest]))
    assert not command_reads(" ".join(["ls |", *command, *rest]))


@given(
    st.sampled_from(
        [(program, option) for program, options in PROGRAMS["acting_options"].items() for option in options]
    )
)
def test_an_option_that_writes_makes_each_program_write(forbidden: tuple[str, str]) -> None:
    program, option = forbidden
    names = [f"{program} {sub}" for sub in PROGRAMS["subcommands"].get(program, "").split()] or [program]

    for name in names:
        assert not command_reads(f"{name} {option} x")
        assert not command_reads(f"{name} x {option}=x")
        if option.startswith("--"):
            assert not command_reads(f"{name} {option[:-1]}=x")


@pytest.mark.parametrize(
    "command",
    [
        "journalctl -u nginx --since '1 hour ago' --no-pager | tail -n 50",
        "systemctl --no-pager status nginx; systemctl show nginx -p NRestarts",
        "find /var -type f -mtime +14 -not -name '*.keep' -print0 | xargs -0 du -ch | tail -n 1",
        "find /var -type f -print0 | du -ch --files0-from=-",
        "ps aux | awk '$3 > 50 {print $2, $11}' | sort -u",
        "df -h | awk -F ' ' 'NR>1 || /var/ {print $5}'",
        "sed -n '/error/,/done/p' app.log",
        "sed -E 's/[0-9]+/N/g' app.log | sort | uniq -c",
        "ls -la\ndf -h",
        "LC_ALL=C sort names.txt",
        "sudo journalctl -xeu nginx",
        "bash -c 'ls | wc -l'",
        "curl -sS -o /dev/null -w '%{http_code}' http://localhost:8080/health",
        "curl -fsSL -X GET -H 'Accept: text/plain' https://shop.example/status",
        "psql -h db -U app shop -tAc 'select count(*) from orders'",
        "sudo -u postgres psql -c \"select pid, state from pg_stat_activity where state = 'active'\"",
        "mysql -N -e 'show tables' shop",
        "docker compose -f a.yml logs --tail 20 web",
        "docker compose exec -T web cat /etc/hosts",
        "kubectl rollout status deploy/web -n shop",
        "aws --region eu-west-1 ec2 describe-instances --output json",
        "gcloud --project p compute instances list",
        "gcloud beta run services describe web --region europe-west1",
        "gcloud config get-value project",
        "gcloud logging read severity=ERROR --limit 20",
        "gcloud compute instance-groups managed list",
        "gcloud secrets versions list db",
        "az vm list -o table",
        "az network vnet subnet show -g shop -n a",
        "az storage account list",
        "doctl compute droplet list",
        "doctl kubernetes cluster node-pool list shop",
        "gh run view 7",
        "argocd app get shop",
        "btrfs filesystem usage /",
        "ip -br addr show dev eth0",
        "git config --get user.name",
        "dmesg -T | tail",
        "sysctl net.ipv4.ip_forward",
        "python3 --version",
        "nft -a list ruleset",
        "rclone lsf --max-depth 1 remote:a",
        "smartctl -l error /dev/sda",
        "ansible-inventory -i inventory/prod.yml --graph",
        "gcloud compute instances list --filter=a --format json",
        "dnf -q -C list installed",
        "mailq",
        "curl 'http://[::1]:8080/health'",
    ],
)
def test_these_commands_read(command: str) -> None:
    assert command_reads(command)


@pytest.mark.parametrize(
    "command",
    [
        "journalctl --vacuum-time=2d",
        "journalctl --vac=2d",
        "journalctl --rotate",
        "find . -print0 | xargs -0 rm -f",
        "find . | xargs sort",
        "find . | xargs -I{} sh -c 'rm {}'",
        "find . | xargs find",
        "awk '{print > \"out\"}' in",
        "awk '{print | \"sh\"}' in",
        "awk 'BEGIN {system(\"rm a\")}'",
        "awk 'BEGIN {\"rm a\" | getline}'",
        "awk '@load \"x\"; {print}' in",
        "awk -f script in",
        "awk -i inplace '{print}' in",
        "sed -i s/a/b/ in",
        "sed -ni p in",
        "sed -n 's/a/b/w out' in",
        "sed 's/a/rm b/e' in",
        "sed '1e rm a' in",
        "sed 'w out' in",
        "sed -f script in",
        "sed --in-place s/a/b/ in",
        "ls -la\nrm a",
        "ls # x\nrm a",
        "LD_PRELOAD=a ls",
        "GIT_PAGER=a git log",
        "bash -c 'rm a'",
        "bash",
        "curl -X POST https://shop.example",
        "curl -XDELETE https://shop.example",
        "curl --request=PUT https://shop.example",
        "curl -d a=1 https://shop.example",
        "curl --data-raw a https://shop.example",
        "curl -F a=@b https://shop.example",
        "curl -T a https://shop.example",
        "curl -o out https://shop.example",
        "curl -sO https://shop.example",
        "curl -K config https://shop.example",
        "curl smtp://shop.example",
        "curl gopher://localhost:6379/_FLUSHALL",
        "curl -w '%output{a}' https://shop.example",
        "psql shop",
        "echo 'drop table a' | psql shop",
        "psql -f a.sql",
        "psql -c 'delete from a'",
        "psql -c 'select 1' -c 'delete from a'",
        "psql -c '\\! rm a'",
        "mysql -e 'select 1 \\! rm a'",
        "mysql shop -e 'drop table a'",
        "mysql --init-command='drop table a' -e 'select 1'",
        "date -I -s '+1 hour'",
        "date 10101010",
        "hostname other",
        "xxd in out",
        "xxd -r in",
        "dmesg -C",
        "dmesg --clear",
        "ip link set eth0 down",
        "ip -batch file",
        "ip addr flush dev eth0",
        "sysctl -w a=1",
        "sysctl a=1",
        "kubectl exec web-1 -- rm a",
        "kubectl exec web-1 -- sh -c 'rm a'",
        "docker compose exec web rm a",
        "git remote add a b",
        "git tag v1",
        "git stash",
        "git reflog expire --all",
        "git ls-remote --upload-pack=a .",
        "npm audit fix",
        "helm list --kubeconfig=a && helm uninstall b",
        "gcloud compute ssh list",
        "gcloud compute instances delete list",
        "aws ec2 terminate-instances --instance-ids i-1",
        "ss -K dst 10.0.0.1",
        "cat a > b",
        "cat a | tee b",
        "./a --version",
        "sysctl -p",
        "mongosh a.js --eval 'db.c.find()'",
        "mongosh --file a --eval 'db.c.find()'",
        "mongosh --eval 'db.c.find()' shop/a.JS",
        "rclone ls :sftp,ssh=a:",
        "kubectl get pods --log_file=a",
        "git ls-remote ext::a",
        "sysctl --system",
        "sysctl -n -p",
        "git grep -lOrm foo",
        "git -C a grep -nO foo",
        "git reflog show --output -5",
        "pacman -Ss -y a",
        "gh api -XDELETE",
        "go env --w GOPROXY=a",
        "go list -export ./...",
        "go list --toolexec=a ./...",
        "uv version 1.2.3",
        "tree -R -L 1",
        "tree -aR",
        "nm --plugin=a.so b",
        "nm --plug a.so b",
        "cargo metadata --config 'build.rustc=\"a\"'",
        "ceph status -o a",
        "restic snapshots --password-command 'rm a'",
        "restic snapshots -o sftp.command=a",
        "borg list --rsh a",
        "rclone tree -o a b:",
        "zpool events -vc",
        "npm view a --git=b",
        "aws apigateway get-export --rest-api-id a out",
        "aws appconfig get-configuration out",
        "curl -H 'X-HTTP-Method-Override: DELETE' https://shop.example/orders/5",
        "curl --header=@a https://shop.example",
        "curl https://shop.example/orders/5/cancel",
        "curl localhost:8080/orders/delete",
        "curl --url=https://shop.example/?_method=DELETE",
        "curl localhostile.example",
        "curl -w @a https://shop.example",
        """mongosh --eval 'db.c.aggregate([{"\\u0024out": "a"}])'""",
        """mongosh --eval 'db.c.aggregate([{["$o" + "ut"]: "a"}])'""",
        """mongosh --eval 'db.c.find({a: new db.b.drop})'""",
        "crontab -r",
        "nft list 'ruleset; flush ruleset'",
        """rclone ls 'remote,ssh="rm a":'""",
        "smartctl -l scterc,70,70 /dev/sda",
        "smartctl --log=sataphy,reset /dev/sda",
        "mailq -q",
        "ansible-inventory -i ./inventory.sh --list",
        "gcloud compute instances list --flags-file=a.yaml",
        "gcloud kms keys versions get-public-key 1 --output-file=a",
        "tailscale status --web",
        "dnf -qc a.conf list",
        "dnf list --setopt=pluginpath=a",
        "aws workmailmessageflow get-raw-message-content --message-id a b",
        "curl 'https://shop.example/orders/5/[c-c]ancel'",
        "curl 'https://shop.example/orders/5/can{c}el'",
        "git cat-file --filters HEAD:a",
    ],
)
def test_these_commands_write(command: str) -> None:
    assert not command_reads(command)


@pytest.mark.parametrize(
    ("name", "arguments", "declared", "undeclared"),
    [
        ("sh", {"cmd": "df -h", "host": "db-1", "timeout_s": 30}, True, True),
        ("sh", {"cmd": "df -h", "maschine": "db-1"}, True, False),
        ("sh", {"cmd": "rm a", "host": "db-1"}, False, False),
        ("sh", {"cmd": "df -h", "stdin": "rm a"}, False, False),
        ("sh", {"cmd": "ls", "args": ["a"]}, False, False),
        ("sh", {"commands": ["ls", "df -h"]}, True, True),
        ("sh", {"commands": ["ls", "rm a"]}, False, False),
        ("sh", {"commands": ["ls", 7]}, False, False),
        ("kubectl", {"args": "get pods -n shop", "context": "prod"}, True, True),
        ("kubectl", {"args": "kubectl get pods"}, True, True),
        ("kubectl", {"args": ["get", "pods"]}, True, True),
        ("kubectl", {"args": "delete pod web-1"}, False, False),
        ("kubectl", {"args": "get pods; rm a"}, False, False),
        ("kubectl", {"args": "get pods\nrm a"}, False, False),
        ("mcp__k8s__run_kubectl", {"command": "get pods"}, True, True),
        ("git", {"subcommand": "log", "args": ["--output=a"]}, False, False),
        ("npm", {"command": "test"}, False, False),
        ("docker_exec", {"container": "web", "command": "ls"}, True, True),
        ("docker_exec", {"container": "web", "command": "rm a"}, False, False),
        ("sql", {"sql": "show tables", "db": "shop"}, True, True),
        ("chart.post", {"sql": "select a from b", "channel": "#a", "title": "b"}, True, False),
        ("sql", {"query": "show me my orders"}, True, None),
        ("query_db", {"q": "delete from a"}, False, False),
        ("query_db", {"q": "select a from b"}, None, None),
        ("PowerShell", {"command": "ls"}, False, False),
        ("run_pwsh", {"command": "ls"}, False, False),
        ("sh", {"command": "ls", "shell": "powershell"}, False, False),
        ("sh", {"command": "ls", "shell": "bash"}, True, True),
        ("sql", {"sql": "delete from a", "db": "shop"}, False, False),
        ("sql", {"sql": "explain analyze select a from b"}, True, True),
        ("sql", {"text": "ls"}, None, None),
        ("sql", ["ls"], None, None),
    ],
)
def test_other_arguments_matter_unless_a_tool_only_runs_what_the_caller_writes(
    name: str, arguments: Any, declared: bool | None, undeclared: bool | None
) -> None:
    assert call_reads(name, arguments, runs_only=True) is declared
    assert call_reads(name, arguments, runs_only=False) is undeclared
