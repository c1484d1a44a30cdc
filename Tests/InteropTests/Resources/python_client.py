"""Google's Python client against a server: create, set, update, delete, query, listen, batch, transaction.

Uses FIRESTORE_EMULATOR_HOST and GOOGLE_CLOUD_PROJECT. Ends with status 0 and the line "python client: N steps passed",
or with the failed assertion.
"""

import threading

from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

steps = 0


def step(name):
    global steps
    steps += 1
    print(f"{steps}. {name}", flush=True)


db = firestore.Client()
cities = db.collection("cities")

step("create, and create again fails")
cities.document("SF").create({"name": "San Francisco", "state": "CA", "population": 873965, "regions": ["west_coast"]})
try:
    cities.document("SF").create({"name": "twice"})
    raise AssertionError("a second create must fail")
except exceptions.AlreadyExists:
    pass

step("set, merge and get")
cities.document("LA").set({"name": "Los Angeles", "state": "CA", "population": 3898747, "regions": ["west_coast", "socal"]})
cities.document("DC").set({"name": "Washington, D.C.", "state": None, "population": 689545, "capital": True})
cities.document("LA").set({"mayor": {"name": "somebody"}}, merge=True)
la = cities.document("LA").get().to_dict()
assert la["population"] == 3898747 and la["mayor"] == {"name": "somebody"}, la

step("update with transforms, and update of a missing document fails")
cities.document("SF").update({
    "population": firestore.Increment(35), "regions": firestore.ArrayUnion(["norcal"]),
    "changed": firestore.SERVER_TIMESTAMP, "mayor.name": "x",
})
sf = cities.document("SF").get().to_dict()
assert sf["population"] == 874000 and sf["regions"] == ["west_coast", "norcal"] and sf["changed"] is not None, sf
try:
    cities.document("missing").update({"a": 1})
    raise AssertionError("an update of a missing document must fail")
except exceptions.NotFound:
    pass

step("all value types come back as they went")
values = {
    "null": None, "true": True, "int": -(2**63), "double": 1.5, "nan": float("nan"), "string": "grüße 🌍", "bytes": b"\x00\xff",
    "geo": firestore.GeoPoint(1.5, -2.5), "array": [1, {"a": [True]}], "map": {"b": {"c": 3}}, "ref": cities.document("SF"),
}
db.document("types/all").set(values)
back = db.document("types/all").get().to_dict()
assert back["nan"] != back["nan"]
for key, value in values.items():
    assert key == "nan" or back[key] == value, (key, back[key])

step("queries: filter, order, limit, cursor, in, array-contains, count")
by_state = [d.id for d in cities.where(filter=FieldFilter("state", "==", "CA")).stream()]
assert sorted(by_state) == ["LA", "SF"], by_state
largest = [d.id for d in cities.order_by("population", direction=firestore.Query.DESCENDING).limit(2).stream()]
assert largest == ["LA", "SF"], largest
after = [d.id for d in cities.order_by("population").start_after({"population": 689545}).stream()]
assert after == ["SF", "LA"], after
assert [d.id for d in cities.where(filter=FieldFilter("regions", "array_contains", "socal")).stream()] == ["LA"]
assert len(list(cities.where(filter=FieldFilter("name", "in", ["San Francisco", "Los Angeles"])).stream())) == 2

step("listen: first snapshot, a change, a removal")
seen, changed = [], threading.Event()


def on_snapshot(documents, changes, read_time):
    seen.append(([d.id for d in documents], [(c.type.name, c.document.id) for c in changes]))
    changed.set()


def wait_for(what):
    for _ in range(200):
        if seen and seen[-1] == what:
            return
        changed.wait(0.1)
        changed.clear()
    raise AssertionError(f"expected {what}, saw {seen}")


watch = cities.where(filter=FieldFilter("state", "==", "CA")).on_snapshot(on_snapshot)
wait_for((["LA", "SF"], [("ADDED", "LA"), ("ADDED", "SF")]))
cities.document("SD").set({"name": "San Diego", "state": "CA", "population": 1386932})
wait_for((["LA", "SD", "SF"], [("ADDED", "SD")]))
cities.document("SD").update({"state": "moved"})
wait_for((["LA", "SF"], [("REMOVED", "SD")]))
watch.unsubscribe()

step("batch is atomic")
batch = db.batch()
batch.set(cities.document("B1"), {"n": 1})
batch.delete(cities.document("SD"))
batch.update(cities.document("SF"), {"population": firestore.Increment(1)})
results = batch.commit()
assert len(results) == 3
assert cities.document("B1").get().exists and not cities.document("SD").get().exists
broken = db.batch()
broken.set(cities.document("B2"), {"n": 2})
broken.update(cities.document("missing"), {"n": 2})
try:
    broken.commit()
    raise AssertionError("a batch with a failing write must fail")
except exceptions.NotFound:
    pass
assert not cities.document("B2").get().exists

step("transaction reads and writes")


@firestore.transactional
def raise_population(transaction, reference):
    snapshot = reference.get(transaction=transaction)
    transaction.update(reference, {"population": snapshot.get("population") + 1})


raise_population(db.transaction(), cities.document("SF"))
assert cities.document("SF").get().get("population") == 874002

step("list and delete")
ids = sorted(d.id for d in cities.list_documents())
assert ids == ["B1", "DC", "LA", "SF"], ids
for reference in cities.list_documents():
    reference.delete()
assert list(cities.stream()) == []

print(f"python client: {steps} steps passed")
