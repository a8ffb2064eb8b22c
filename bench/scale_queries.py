"""The queries of lists that `bench.scale` measures, by what they ask for; those of which nothing is found say so."""

LOG = {
    "first page": "",
    "sessions alone": "type=otel",
    "runs alone": "type=run",
    "a search that finds": "search=weather",
    "a search that finds nothing": "search=nowhere",
    "what went wrong": "errors=true",
    "one model's sessions and runs": "model=gpt-4o",
    "of a score": "score=helpful&maxScore=0.1",
    "of a score; finds nothing": "score=helpful&minScore=2",
}

SESSIONS = {
    "latest": "",
    "longest": "sort=duration",
    "most errors": "sort=errors",
    "with errors, latest": "errors=true",
    "of a user": "userId=user-7",
    "of a conversation": "conversationId=none",
    "of a failed tool": "failedTool=get_weather&sort=duration",
    "of a model, of a week": "model=gpt-4o-mini&since=7d",
    "oldest, of a user": "sort=oldest&userId=user-7",
    "fewest errors, of a model": "sort=fewestErrors&model=gpt-4o-mini",
    "of a cost": "minCost=0.000001",
    "of a cost; finds nothing": "minCost=1000",
    "of a word in all of them": "q=weather",
    "of a phrase in all of them": "q=%22weather+in+paris%22",
    "of two words, longest": "q=weather+forecast&sort=duration",
    "of a word; finds nothing": "q=refund",
    "of a beginning; finds nothing": "q=refund*",
    "counted": "count=true",
    "of a score": "score=helpful&maxScore=0.1",
    "of a score; finds nothing": "score=helpful&minScore=2",
    "of a tool; finds nothing": "tool=nowhere&sort=errors",
}
