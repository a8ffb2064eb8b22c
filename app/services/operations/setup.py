"""Makes an instance usable: its schema, the models, a first organization with its project, a key and a demo prompt."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from app.db import Database
from app.errors import NotFound, Unauthorized
from app.models import organizations, schema
from app.models.organizations import Project
from app.services.accounts.keys import KeyService
from app.services.accounts.service import AccountService
from app.services.language_models.service import ModelService
from app.services.operations import demo
from app.services.operations.demo_session import DemoSession
from app.services.prompts.editor import PromptEditor
from app.services.prompts.service import PromptService
from app.timestamps import Now

ORGANIZATION = "Reprise"
PROJECT = "Demo"
KEY_NAME = "First key"
ADMIN_EMAIL = "admin@reprise.local"


@dataclass(frozen=True, slots=True)
class Seed:
    """`api_key` is None when the project has keys whose secrets are not known here; `prompt_id` without a demo."""

    project_id: int
    api_key: str | None
    prompt_id: int | None
    key_is_new: bool


@dataclass(frozen=True, slots=True)
class Admin:
    """`password` is None where somebody else set it; `path` signs in whoever opens it, for a day."""

    email: str
    password: str | None
    path: str


class SetupService:
    """Every method may be called again, and by two processes at once: what is there already stays."""

    def __init__(
        self,
        *,
        database: Database,
        now: Now,
        keys: KeyService,
        models: ModelService,
        prompts: PromptService,
        editor: PromptEditor,
        demo_session: DemoSession,
        accounts: AccountService,
    ) -> None:
        self._database = database
        self._now = now
        self._keys = keys
        self._models = models
        self._prompts = prompts
        self._editor = editor
        self._demo_session = demo_session
        self._accounts = accounts

    def upgrade(self) -> str:
        """Bring the schema and the catalogue of models to this release; the schema's revision."""
        schema.upgrade(self._database)
        self._models.sync_catalogue()
        return schema.newest_revision()

    def seed(self, *, with_demo: bool, api_key: str = "", prompt_id: str = "", new_key: bool = False) -> Seed:
        """What a first caller needs. `api_key` and `prompt_id`, known from an earlier start, are kept while valid.

        Without a known key a new one is made for a project that has none, or at any rate with `new_key`.
        """
        with self._database.engine.connect() as connection, schema.exclusive(connection):
            known = self._project_of(api_key)
            project = known or self._first_project()
            if not known:
                api_key = self._key(project.id, new_key=new_key)
            prompt = self._demo(project, prompt_id) if with_demo else None
            if prompt is not None:
                self._demo_session.seed(project_id=project.id, prompt_id=prompt)
        return Seed(project.id, api_key or None, prompt, key_is_new=bool(api_key) and known is None)

    def admin(self, *, project_id: int, email: str = "", password: str = "") -> Admin:
        """Somebody who can sign in. `email` and `password`, known from an earlier start, are kept."""
        email, new_password = email or ADMIN_EMAIL, password or secrets.token_urlsafe(12)
        with self._database.engine.connect() as connection, schema.exclusive(connection):
            project = organizations.find_project(connection, project_id)
            if project is None:
                raise NotFound("There is no such project.")
            made = self._accounts.ensure_admin(
                organization_id=project.organization_id, email=email, password=new_password
            )
        path = self._accounts.sign_in_link(email=email)
        return Admin(email, new_password if made else password or None, path)

    def _project_of(self, api_key: str) -> Project | None:
        try:
            key = self._keys.authenticate(f"Bearer {api_key}")
        except Unauthorized:
            return None
        with self._database.read() as connection:
            return organizations.find_project(connection, key.project_id)

    def _first_project(self) -> Project:
        with self._database.write() as connection:
            existing = organizations.list_projects(connection)
            if existing:
                return existing[0]
            organization_id = organizations.add_organization(connection, name=ORGANIZATION, now=self._now())
            organizations.add_project(connection, organization_id=organization_id, name=PROJECT, now=self._now())
            return organizations.list_projects(connection)[0]

    def _key(self, project_id: int, *, new_key: bool) -> str:
        live = [key for key in self._keys.list(project_id=project_id) if key.valid_at(self._now())]
        if live and not new_key:
            return ""
        return self._keys.create(project_id=project_id, name=KEY_NAME).secret

    def _demo(self, project: Project, prompt_id: str) -> int:
        """The prompt of an earlier start, else one of the demo's name, else a new one."""
        if prompt_id.isdecimal() and (known := self._prompt(project.id, int(prompt_id))):
            return known
        page = self._prompts.list(project_id=project.id, search=demo.PROMPT.name, limit=1)
        if page.prompts:
            return page.prompts[0].id
        return self._editor.create(
            project_id=project.id, organization_id=project.organization_id, new=demo.PROMPT
        ).prompt_id

    def _prompt(self, project_id: int, prompt_id: int) -> int | None:
        try:
            return self._prompts.get(project_id=project_id, prompt_id=prompt_id, productive=False).head.id
        except NotFound:
            return None
