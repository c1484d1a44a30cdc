"""Carries out transactions on lists with Google's Python client: a plan per line of standard input, an answer per line of output.

Arguments: the address of the server, the project.
"""

import json
import os
import sys

os.environ["FIRESTORE_EMULATOR_HOST"] = sys.argv[1]

from google.api_core import exceptions  # noqa: E402
from google.cloud import firestore  # noqa: E402
from google.cloud.firestore_v1.base_query import FieldFilter  # noqa: E402

db = firestore.Client(project=sys.argv[2])
lists = db.collection("lists")


def say(answer):
    print(json.dumps(answer), flush=True)


def fields(plan, append, numbers):
    return {"epoch": plan["epoch"], "group": append["group"], "numbers": numbers}


def write(plan, reads, target):
    for append in plan["appends"]:
        document = lists.document(append["list"])
        if append["isBlind"] or append["list"] not in reads:
            target.set(document, fields(plan, append, firestore.ArrayUnion([append["number"]])), merge=True)
        else:
            target.set(document, fields(plan, append, reads[append["list"]] + [append["number"]]))


def transact(transaction, plan):
    reads = {}
    for snapshot in transaction.get_all([lists.document(name) for name in plan["reads"]]) if plan["reads"] else []:
        reads[snapshot.id] = snapshot.get("numbers") if snapshot.exists else []
    if plan.get("group") is not None:
        query = lists.where(filter=FieldFilter("epoch", "==", plan["epoch"]))
        query = query.where(filter=FieldFilter("group", "==", plan["group"]))
        for snapshot in transaction.get(query):
            reads[snapshot.id] = snapshot.get("numbers")
        for append in plan["appends"]:
            if append["group"] == plan["group"]:
                reads.setdefault(append["list"], [])
    say("reads")
    write(plan, reads, transaction)
    return reads


for line in sys.stdin:
    plan = json.loads(line)
    try:
        if not plan["reads"] and plan.get("group") is None:
            batch = db.batch()
            write(plan, {}, batch)
            say("reads")
            batch.commit()
            say({"outcome": "committed", "reads": {}})
        else:
            transaction = db.transaction(read_only=not plan["appends"])
            reads = firestore.transactional(transact)(transaction, plan)
            say({"outcome": "committed", "reads": reads})
    except (exceptions.Aborted, ValueError):
        # The client raises ValueError after its last attempt was aborted.
        say({"outcome": "failed", "reads": {}})
    except exceptions.GoogleAPICallError as error:
        print(error, file=sys.stderr)
        say({"outcome": "unknown", "reads": {}})
