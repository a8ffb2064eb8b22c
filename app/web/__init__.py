"""Server-rendered pages: they call the services that the API calls, and work without JavaScript.

CONTRIBUTING.md lists the files of a new page.

A template extends `layout.html` and imports `macros.html` as `ui`. It sees `page` (the values of the view), `visit`
(`visit.base` is the project's path, `visit.can_edit` and `visit.can_administer` are the viewer's rights) and `labels`
(`labels.py`). Everything is escaped; a missing name is an error. No inline script and no `style` attribute: the
Content-Security-Policy forbids both. Every number gets its unit by a filter of `filters.py`, every time goes through
`ui.time`.

A view is a `Page` whose `get` calls services and returns `show(template, **values)` with their rows. A form's `post`
reads `visit.form`, calls a service with `visit.actor`, and returns `Redirect(path, flash)`. A page that asks before
something is lost returns `confirm(…)`. Calculations longer than a few lines belong in `presenters/`: functions without
framework, queries or clock.

A form with files, or with thousands of fields, is sent as multipart to a page that sets `multipart`. Parts that the
pages of prompts, test cases and replays share are in `templates/work_macros.html` and `static/work.css`.

Behaviour in the browser is declared in HTML and done by `static/app.js`: `data-dialog` on a link opens that page's
`[data-dialog-body]` in a dialog; `data-live="3000"` on an element with an id fetches it again until it comes without;
`data-copy="id"` copies; `data-raw="id"` shows Markdown as it was written; `data-auto` on a form sends it when a
choice changes; `data-slash` takes the focus at "/".
"""
