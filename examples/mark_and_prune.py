"""Look at a run, mark what is wrong, and prune with the marks: what `winnow view` does, without a browser.

The page sends marks to the viewer's server, which saves them at once. Here a script sends them, and then prunes.
"""

import json
import urllib.request

import winnow as wn

source = wn.open("digits", limit=400)
issues = wn.check(source, model="mlp", recipe=wn.Recipe(epochs=8), out="checked")
print(issues.summary())

with wn.view("checked", source) as viewer:
    print("the page is at", viewer.url.partition("#")[0], "until the block ends")  # in a notebook: just `viewer`
    address, _, token = viewer.url.partition("/#token=")

    def ask(path: str, body: object = None) -> dict:
        """Ask the server as its page does; writing needs the token and the page's own Origin."""
        headers = {"x-winnow-token": token, "origin": address, "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(address + path, data, headers)) as answer:
            return json.load(answer)

    first = ask("/api/rows?filter=%7B%22sort%22%3A%22issue%22%2C%22descending%22%3Atrue%7D&count=2")["rows"]
    print("most likely an issue:", [(row["id"], row["label"], row["suggestion"]) for row in first])
    ask("/api/mark", {"rows": [first[0]["row"]], "choice": "drop"})
    print("marks:", ask("/api/mark", {"rows": [first[1]["row"]], "choice": "keep"})["marks"])

subset = wn.prune(source, keep=0.3, method="random", marks="checked/marks.parquet")
dropped, kept = (row["id"] in subset.ids for row in first)
print(f"{len(subset)} examples; the dropped one is among them: {dropped}, the one to keep: {kept}")
