"""Server-rendered pages. They use the services of the API, and work without JavaScript.

CONTRIBUTING.md lists the files that a new page needs.

A template extends `layout.html` and imports `macros.html` as `ui`. It sees `page` (the values of the view), `visit`
(`visit.base` is the project's path, `visit.can_edit` and `visit.can_administer` are the viewer's rights) and `labels`
(`labels.py`). Everything is escaped; a missing name is an error. Inline scripts and `style` attributes are forbidden by
the Content-Security-Policy. Format every number with its unit by a filter of `filters.py`, and every time by `ui.time`.

A view is a `Page`. Its `get` calls services and returns `show(template, **values)` with their rows. A form's `post`
reads `visit.form`, calls a service with `visit.actor`, and returns `Redirect(path, flash)`. A page that asks for
confirmation returns `confirm(…)`. Calculations longer than a few lines belong in `presenters/`: functions without
framework, queries or clock.

A form with files, or with thousands of fields, is sent as multipart to a page that sets `multipart`. Parts shared by
the pages of prompts, test cases and replays are in `templates/work_macros.html` and `static/work.css`.

HTML declares the behaviour in the browser, and `static/app.js` implements it: `data-dialog` on a link opens the
`[data-dialog-body]` of the linked page in a dialog; `data-live="3000"` on an element with an id fetches the element
again until it comes without the attribute, from the page of `data-live-from` if it has that; `data-copy="id"` copies;
`data-raw="id"` shows the source of Markdown; `data-auto` on a form sends it when a choice changes; `data-slash` gets
the focus when "/" is pressed.
"""
