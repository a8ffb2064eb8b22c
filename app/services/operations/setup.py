"""Sets up an instance: its schema, the models, a first organization with its project, a key and a demo prompt."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from app.database.transactions import Database, retried
from app.errors import NotFound, Unauthorized
from app.models import organizations, schema
from app.models.organizations import Project
from app.models.queries import insert_row
from app.services.accounts.keys import KeyService
from app.services.accounts.service import AccountService
from app.services.language_models.service import ModelService
from app.services.operations import demo
from app.services.operations.demo import DemoSession
from app.services.prompts.editor import PromptEditor
from app.services.prompts.service import PromptService
from app.timestamps import Now

ORGANIZATION = "Reprise"
PROJECT = "Demo"
KEY_NAME = "First key"
ADMIN_EMAIL = "admin@reprise.local"


@dataclass(frozen=True, slots=True)
class Seed:
    """The first project; `api_key` is None if its keys' secrets are unknown, `prompt_id` is None without a demo."""

    project_id: int
    api_key: str | None
    prompt_id: int | None
    key_is_new: bool


@dataclass(frozen=True, slots=True)
class Admin:
    """An admin of the instance.

    `password` is None if a person has set it. `path` is a sign-in link that is valid for a day.
    """

    email: str
    password: str | None
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupService:
    """Every method is idempotent, also when two processes call it at once: existing rows are kept."""

    database: Database
    now: Now
    keys: KeyService
    models: ModelService
    prompts: PromptService
    editor: PromptEditor
    demo_session: DemoSession
    accounts: AccountService

    def upgrade(self) -> str:
        """Upgrade the schema and the catalogue of models to this release; returns the schema's revision."""
        schema.upgrade(self.database)
        self.models.sync_catalogue()
        return schema.newest_revision()

    def seed(self, *, with_demo: bool, api_key: str = "", prompt_id: str = "", new_key: bool = False) -> Seed:
        """Create a first project, key and prompt; a valid `api_key` and `prompt_id` of an earlier start are kept.

        Without a valid key, a new one is created if the project has none, or if `new_key` is set.
        """
        with self.database.engine.connect() as connection, schema.exclusive(connection):
            known = self._project_of(api_key)
            project = known or self._first_project()
            if not known:
                api_key = self._key(project.id, new_key=new_key)
            prompt = self._demo(project, prompt_id) if with_demo else None
            if prompt is not None:
                self.demo_session.seed(project_id=project.id, prompt_id=prompt)
        return Seed(project.id, api_key or None, prompt, key_is_new=bool(api_key) and known is None)

    def admin(self, *, project_id: int, email: str = "", password: str = "") -> Admin:
        """Create a user who can sign in as an admin; `email` and `password` of an earlier start are kept."""
        email, new_password = (email or ADMIN_EMAIL, password or secrets.token_urlsafe(12))
        with self.database.engine.connect() as connection, schema.exclusive(connection):
            owner = organizations.require_project(connection, project_id).organization_id
            made = self.accounts.ensure_admin(organization_id=owner, email=email, password=new_password)
        path = self.accounts.sign_in_link(email=email)
        return Admin(email, new_password if made else password or None, path)

    def _project_of(self, api_key: str) -> Project | None:
        try:
            key = self.keys.authenticate(f"Bearer {api_key}")
        except Unauthorized:
            return None
        with self.database.read() as connection:
            return organizations.find_project(connection, key.project_id)

    @retried
    def _first_project(self) -> Project:
        with self.database.write() as connection:
            if not organizations.list_projects(connection):
                now, table = self.now(), organizations.organizations
                owner = insert_row(connection, table, name=ORGANIZATION, created_at=now)
                insert_row(connection, organizations.projects, organization_id=owner, name=PROJECT, created_at=now)
            return organizations.list_projects(connection)[0]

    def _key(self, project_id: int, *, new_key: bool) -> str:
        has_key = any(key.valid_at(self.now()) for key in self.keys.list(project_id=project_id))
        if has_key and not new_key:
            return ""
        return self.keys.create(project_id=project_id, name=KEY_NAME).secret

    def _demo(self, project: Project, prompt_id: str) -> int:
        """Return the id of the prompt of an earlier start, else of one with the demo's name, else of a new one."""
        if prompt_id.isdecimal() and (known := self._prompt(project.id, int(prompt_id))):
            return known
        page = self.prompts.list(project_id=project.id, search=demo.PROMPT.name, limit=1)
        if page.prompts:
            return page.prompts[0].id
        made = self.editor.create(project_id=project.id, organization_id=project.organization_id, new=demo.PROMPT)
        return made.prompt_id

    def _prompt(self, project_id: int, prompt_id: int) -> int | None:
        try:
            return self.prompts.get(project_id=project_id, prompt_id=prompt_id, productive=False).head.id
        except NotFound:
            return None
