"""Server-rendered pages: they call the services that the API calls, and work without JavaScript.

To add a page:

1. `presenters/<noun>.py`: a frozen dataclass of what the template shows, and a function that makes it of what the
   services give. Choosing, sorting, sums and words belong here; no framework, no queries, no clock.
2. `templates/<noun>.html`: extends `layout.html`, imports `macros.html` as `ui`; it sees `page` (the dataclass) and
   `shell` (`shell.base` is the project's path, `shell.can_edit` and `shell.can_administer` the viewer's rights).
   Everything is escaped; a missing name is an error. No inline script and no `style` attribute: the Content-Security-
   Policy forbids both. Every number gets its unit by a filter of `filters.py`, every time goes through `ui.time`.
3. `views/<noun>.py`: a `Page` with `on_get`, about eleven lines: services, presenter, `self.show(...)`. A form's
   `on_post` reads `req.context.visit.form`, calls a service with `visit.actor`, and ends in `self.lead(path, words)`;
   on `Invalid` it shows the form again, with the words and status 400. `access` declares who may call each method
   (see `app/access.py`), `section` names the entry of the navigation that is marked.
4. `routes.py`: one line. In the navigation: `NAVIGATION` in `shell.py`; among a prompt's tabs: `PROMPT` in
   `presenters/tabs.py`.
5. `tests/e2e/ui/`: add its address to `PAGES`; it is then opened light and dark, wide and narrow, and checked for
   errors, policy violations, foreign requests and accessibility.

A form with files, or with thousands of fields, is sent as multipart to a page that says `multipart`. What the pages of
prompts, test cases and replays share is in `templates/work_macros.html` and `static/work.css`.

What moves is declared in HTML and done by `static/app.js`: `data-dialog` on a link opens that page's
`[data-dialog-body]` in a dialog; `data-live="3000"` on an element with an id takes it anew until it comes without;
`data-copy="id"` copies; `data-auto` on a form sends it when a choice changes; `data-slash` takes the focus at "/".
"""
