// Every kind of call of Google's JavaScript SDK, over gRPC and, in its Lite edition, over REST.
//
//   node google_js_calls.mjs SDK_FOLDER
//
// Uses FIRESTORE_EMULATOR_HOST. Ends with the line "google javascript calls: N passed, M failed, 0 skipped", and with status 0 if
// none failed.

import assert from "node:assert/strict";
import { listenerSteps } from "./google_js_listening.mjs";
import { connect, disconnectAll, ids, lite, refused, sdk, Steps } from "./google_js_steps.mjs";

// A project for each edition and run, so that none sees the other's documents.
const run = Date.now();
const projectOf = { "SDK over gRPC": `js-calls-${run}`, "Lite over REST": `js-calls-lite-${run}` };

/** Steps for what both editions offer. Lite has other names for aggregations only. */
async function commonSteps(steps, api) {
  const step = (name, body) => steps.step(name, body);
  const db = connect(api, projectOf[steps.kind]);
  await documentSteps(step, api, db);
  await atomicSteps(step, api, db);
  await valueSteps(step, api, db);
  await querySteps(step, api, db);
  await step("named database", async () => {
    const other = connect(api, projectOf[steps.kind], "other");
    await api.setDoc(api.doc(other, "named/a"), { in: "other" });
    assert.deepEqual((await api.getDoc(api.doc(other, "named/a"))).data(), { in: "other" });
    assert.equal((await api.getDoc(api.doc(db, "named/a"))).exists(), false);
  });
}

/** Lite makes its codes of the numbers of HTTP's statuses, and this one of 400. */
const invalidArgument = (api) => (api === lite ? "failed-precondition" : "invalid-argument");

async function documentSteps(step, api, db) {
  const reference = (name) => api.doc(db, "documents", name);
  const read = async (name) => (await api.getDoc(reference(name))).data();
  await step("set and get", async () => {
    await api.setDoc(reference("a"), { name: "a", deep: { x: 1, y: 2 } });
    assert.deepEqual(await read("a"), { name: "a", deep: { x: 1, y: 2 } });
    await api.setDoc(reference("a"), { name: "again", deep: { x: 1, y: 2 } });
    assert.equal((await read("a")).name, "again");
  });
  await step("get of a missing document", async () => {
    const missing = await api.getDoc(reference("missing"));
    assert.equal(missing.exists(), false);
    assert.equal(missing.data(), undefined);
  });
  await step("set with merge, and with fields to merge", async () => {
    await api.setDoc(reference("a"), { deep: { x: 10 } }, { merge: true });
    assert.deepEqual(await read("a"), { name: "again", deep: { x: 10, y: 2 } });
    await api.setDoc(reference("a"), { name: "not merged", deep: { x: 11, y: 12 } }, { mergeFields: ["deep.y"] });
    assert.deepEqual(await read("a"), { name: "again", deep: { x: 10, y: 12 } });
  });
  await step("update of paths, with pairs, and with the sentinel for deletion", async () => {
    await api.updateDoc(reference("a"), { "deep.y": api.deleteField(), "deep.z": 3 });
    await api.updateDoc(reference("a"), new api.FieldPath("with.dot"), true, "more", [1]);
    assert.deepEqual(await read("a"), { name: "again", deep: { x: 10, z: 3 }, "with.dot": true, more: [1] });
  });
  await step("update of a missing document is refused", () =>
    refused("not-found", api.updateDoc(reference("missing"), { a: 1 })));
  await step("a reserved id is refused", () =>
    refused(invalidArgument(api), api.setDoc(reference("__a__"), { a: 1 })));
  await step("delete, also of a missing document", async () => {
    await api.deleteDoc(reference("a"));
    await api.deleteDoc(reference("a"));
    assert.equal(await read("a"), undefined);
  });
  await step("add makes an id", async () => {
    const added = await api.addDoc(api.collection(db, "added"), { n: 1 });
    assert.match(added.id, /^[A-Za-z0-9]{20}$/);
    assert.deepEqual((await api.getDoc(added)).data(), { n: 1 });
  });
}

async function atomicSteps(step, api, db) {
  const reference = (name) => api.doc(db, "atomic", name);
  const read = async (name) => (await api.getDoc(reference(name))).data();
  await step("batch writes all", async () => {
    await api.setDoc(reference("gone"), {});
    const batch = api.writeBatch(db);
    batch.set(reference("a"), { n: 1 }).set(reference("b"), { n: 1 }).update(reference("b"), { n: 2 });
    batch.delete(reference("gone"));
    await batch.commit();
    assert.deepEqual([await read("a"), await read("b"), await read("gone")], [{ n: 1 }, { n: 2 }, undefined]);
  });
  await step("batch with a failing write writes nothing", async () => {
    const batch = api.writeBatch(db);
    batch.set(reference("a"), { n: 100 }).update(reference("missing"), { n: 100 });
    await refused("not-found", batch.commit());
    assert.deepEqual(await read("a"), { n: 1 });
  });
  await step("transaction reads and writes", async () => {
    const result = await api.runTransaction(db, async (transaction) => {
      const n = (await transaction.get(reference("a"))).get("n");
      const missing = await transaction.get(reference("missing"));
      transaction.update(reference("a"), { n: n + 1 }).set(reference("b"), { n: missing.exists() ? 0 : 3 });
      return n;
    });
    assert.equal(result, 1);
    assert.deepEqual([await read("a"), await read("b")], [{ n: 2 }, { n: 3 }]);
  });
  await step("transaction whose function throws writes nothing", async () => {
    const attempt = api.runTransaction(db, async (transaction) => {
      transaction.set(reference("a"), { n: 100 });
      throw new Error("not today");
    });
    await assert.rejects(attempt, /not today/);
    assert.deepEqual(await read("a"), { n: 2 });
  });
  await step("transaction runs again when what it read was changed meanwhile", async () => {
    let runs = 0;
    await api.runTransaction(db, async (transaction) => {
      runs += 1;
      const n = (await transaction.get(reference("a"))).get("n");
      // The clients' transactions are optimistic: they lock nothing, so this write goes through.
      if (runs === 1) await api.setDoc(reference("a"), { n: 10 });
      transaction.set(reference("a"), { n: n + 1 });
    });
    assert.equal(runs, 2);
    assert.deepEqual(await read("a"), { n: 11 });
  });
}

async function valueSteps(step, api, db) {
  const reference = api.doc(db, "values/a");
  const read = async () => (await api.getDoc(reference)).data();
  await step("values of all types come back", async () => {
    const time = new api.Timestamp(1700000000, 123456000);
    await api.setDoc(reference, {
      none: null, yes: true, whole: Number.MAX_SAFE_INTEGER, half: 1.5, nan: NaN, infinite: -Infinity, negativeZero: -0,
      text: "grüße 🌍\0", time, bytes: api.Bytes.fromUint8Array(Uint8Array.of(0, 255)), other: reference,
      place: new api.GeoPoint(1.5, -2.5), list: [1, { a: [true] }], map: { b: { c: {} } }, empty: [],
    });
    const back = await read();
    assert.deepEqual([back.none, back.yes, back.whole, back.half], [null, true, Number.MAX_SAFE_INTEGER, 1.5]);
    assert.ok(Number.isNaN(back.nan) && back.infinite === -Infinity && Object.is(back.negativeZero, -0));
    assert.equal(back.text, "grüße 🌍\0");
    assert.ok(back.time.isEqual(time));
    assert.deepEqual([...back.bytes.toUint8Array()], [0, 255]);
    assert.ok(back.place.isEqual(new api.GeoPoint(1.5, -2.5)) && api.refEqual(back.other, reference));
    assert.deepEqual([back.list, back.map, back.empty], [[1, { a: [true] }], { b: { c: {} } }, []]);
  });
  await step("transforms: increment, union, removal and server time", async () => {
    await api.setDoc(reference, { n: 1, list: [1, 2, 2], text: "no number" });
    const added = { n: api.increment(2), list: api.arrayUnion(2, 3), text: api.increment(5), fresh: api.arrayUnion("a") };
    await api.updateDoc(reference, added);
    const more = { n: api.increment(0.5), list: api.arrayRemove(2), at: api.serverTimestamp() };
    await api.setDoc(reference, more, { merge: true });
    const { at, ...rest } = await read();
    assert.deepEqual(rest, { n: 3.5, list: [1, 3], text: 5, fresh: ["a"] });
    assert.ok(at instanceof api.Timestamp && Math.abs(at.toMillis() - Date.now()) < 60000);
  });
}

async function querySteps(step, api, db) {
  const cities = api.collection(db, "cities");
  const found = async (...constraints) => ids(await api.getDocs(api.query(cities, ...constraints)));
  await step("a batch of documents for the queries", async () => {
    const batch = api.writeBatch(db);
    const add = (id, fields) => batch.set(api.doc(cities, id), fields);
    add("BJ", { country: "China", people: 21500, tags: ["capital", "old"] });
    add("DC", { country: "USA", people: 680, tags: ["capital"] });
    add("LA", { country: "USA", people: 3900, tags: ["coast", "film"] });
    add("SF", { country: "USA", people: 860, tags: ["coast", "hills"] });
    add("TOK", { country: "Japan", people: 9000, tags: [], flag: null });
    batch.set(api.doc(db, "cities/SF/places/bridge"), { kind: "bridge", height: 227 });
    batch.set(api.doc(db, "cities/TOK/places/tower"), { kind: "tower", height: 333 });
    await batch.commit();
  });
  const operators = [
    ["==", "country", "Japan", ["TOK"]], ["!=", "country", "USA", ["BJ", "TOK"]], ["<", "people", 860, ["DC"]],
    ["<=", "people", 860, ["DC", "SF"]], [">", "people", 9000, ["BJ"]], [">=", "people", 9000, ["TOK", "BJ"]],
    ["array-contains", "tags", "coast", ["LA", "SF"]], ["array-contains-any", "tags", ["film", "old"], ["BJ", "LA"]],
    ["in", "country", ["China", "Japan"], ["BJ", "TOK"]], ["not-in", "country", ["China", "Japan"], ["DC", "LA", "SF"]],
    ["==", "flag", null, ["TOK"]],
  ];
  for (const [operator, field, operand, expected] of operators) {
    await step(`where ${field} ${operator} ${JSON.stringify(operand)}`, async () => {
      assert.deepEqual(await found(api.where(field, operator, operand)), expected);
    });
  }
  await step("or, and", async () => {
    const isLarge = api.and(api.where("country", "==", "USA"), api.where("people", ">", 1000));
    const filter = api.or(api.where("country", "==", "Japan"), isLarge);
    assert.deepEqual(await found(filter, api.orderBy("people")), ["LA", "TOK"]);
  });
  await step("orders and limits from either end", async () => {
    assert.deepEqual(await found(api.orderBy("country", "desc"), api.orderBy("people")), ["DC", "SF", "LA", "TOK", "BJ"]);
    assert.deepEqual(await found(api.orderBy("people"), api.limit(2)), ["DC", "SF"]);
    assert.deepEqual(await found(api.orderBy("people"), api.limitToLast(2)), ["TOK", "BJ"]);
  });
  await step("cursors of values and of documents", async () => {
    const byPeople = api.orderBy("people");
    assert.deepEqual(await found(byPeople, api.startAt(860), api.endAt(9000)), ["SF", "LA", "TOK"]);
    assert.deepEqual(await found(byPeople, api.startAfter(860), api.endBefore(9000)), ["LA"]);
    const tokyo = await api.getDoc(api.doc(cities, "TOK"));
    assert.deepEqual(await found(byPeople, api.startAfter(tokyo)), ["BJ"]);
    assert.deepEqual(await found(byPeople, api.endBefore(tokyo), api.limitToLast(1)), ["LA"]);
  });
  await step("conditions on names", async () => {
    const isAfter = api.where(api.documentId(), ">=", "LA");
    assert.deepEqual(await found(isAfter, api.where(api.documentId(), "<", "TOK")), ["LA", "SF"]);
    assert.deepEqual(await found(api.where(api.documentId(), "in", ["BJ", "none"])), ["BJ"]);
  });
  await step("collection groups", async () => {
    const places = api.query(api.collectionGroup(db, "places"), api.where("height", ">", 100));
    const paths = (await api.getDocs(places)).docs.map((document) => document.ref.path);
    assert.deepEqual(paths, ["cities/SF/places/bridge", "cities/TOK/places/tower"]);
  });
  await step("aggregations: count, sum and average", async () => {
    const americans = api.query(cities, api.where("country", "==", "USA"));
    const [count, aggregate] = [api.getCountFromServer ?? api.getCount, api.getAggregateFromServer ?? api.getAggregate];
    assert.equal((await count(americans)).data().count, 3);
    const totals = { n: api.count(), people: api.sum("people"), average: api.average("people") };
    assert.deepEqual((await aggregate(americans, totals)).data(), { n: 3, people: 5440, average: 5440 / 3 });
    assert.deepEqual((await aggregate(americans, { none: api.average("nothing") })).data(), { none: null });
  });
  await step("a query that the protocol forbids is refused", () =>
    refused(invalidArgument(api), api.getDocs(api.query(cities, api.where(api.documentId(), "==", "__a__")))));
}

const editions = [new Steps("SDK over gRPC"), new Steps("Lite over REST")];
await commonSteps(editions[0], sdk);
await listenerSteps(editions[0], `js-listening-${run}`);
await commonSteps(editions[1], lite);
await disconnectAll();
const total = (count) => editions.reduce((sum, edition) => sum + edition[count], 0);
for (const { kind, passed, failed } of editions) {
  console.log(`google javascript calls, ${kind}: ${passed} passed, ${failed} failed, 0 skipped`);
}
console.log(`google javascript calls: ${total("passed")} passed, ${total("failed")} failed, 0 skipped`);
// Ends the process at once, whatever the SDK still keeps open.
process.exit(total("failed") === 0 ? 0 : 1);
