"""The queries of lists that `bench.scale` measures, by their description, which mentions it if they find nothing."""

from urllib.parse import urlencode

# Searches by their words; those in all turns, in one of 500 conversations, and in none.
WORDS = {
    "a word in all": "weather",
    "two words in all": "weather forecast",
    "a phrase in all": '"weather in paris"',
    "a rare word": "4711",
    "two rare words": "refund 4711",
    "a rare and a common word": "4711 forecast",
    "a rare phrase": '"not possible"',
    "a bigram": "東京",
    "a beginning": "refun*",
    "a word; finds nothing": "nowhere",
    "a beginning; finds nothing": "nowhe*",
    "a phrase of words in all; finds nothing": '"paris in weather"',
    "16 beginnings in all": "we* fo* to* sa* su* in* th* mo* cl* at* no* an* li* ra* ev* pa*",
}


def _searches(more: str = "") -> dict[str, str]:
    return {f"of {name}": urlencode({"q": q}) + more for name, q in WORDS.items()}


LOG = {
    "first page": "",
    "oldest": "sort=oldest",
    "oldest, what went wrong": "sort=oldest&errors=true",
    "longest": "sort=duration",
    "highest cost": "sort=cost",
    "most errors, of a model": "sort=errors&model=gpt-4o",
    "sessions alone": "type=otel",
    "runs alone": "type=run",
    "a search that finds": "search=weather",
    "a search that finds nothing": "search=nowhere",
    "what went wrong": "errors=true",
    "one model's sessions and runs": "model=gpt-4o",
    "of a score": "score=helpful&maxScore=0.1",
    "of a score; finds nothing": "score=helpful&minScore=2",
    "of a cost; finds nothing": "minCost=1000",
    "of a duration": "minDurationMs=1",
    **_searches(),
    "of a rare phrase, sessions alone": "type=otel&q=%22not+possible%22",
}

SESSIONS = {
    "latest": "",
    "longest": "sort=duration",
    "most errors": "sort=errors",
    "highest cost": "sort=cost",
    "highest cost, of a failed tool": "sort=cost&failedTool=get_weather",
    "with errors, latest": "errors=true",
    "with errors, of yesterday": "errors=true&since=yesterday",
    "of a user": "userId=user-7",
    "of a conversation": "conversationId=none",
    "of a failed tool": "failedTool=get_weather&sort=duration",
    "of a model, of a week": "model=gpt-4o-mini&since=7d",
    "oldest, of a user": "sort=oldest&userId=user-7",
    "fewest errors, of a model": "sort=fewestErrors&model=gpt-4o-mini",
    "of a cost": "minCost=0.000001",
    "of a cost; finds nothing": "minCost=1000",
    **_searches(),
    "of two words in all, longest": "q=weather+forecast&sort=duration",
    "of a phrase in all, dearest": "q=%22weather+in+paris%22&sort=cost",
    "of two rare words, counted": "q=refund+4711&count=true",
    "counted": "count=true",
    "of a score": "score=helpful&maxScore=0.1",
    "of a score; finds nothing": "score=helpful&minScore=2",
    "of a tool; finds nothing": "tool=nowhere&sort=errors",
}
