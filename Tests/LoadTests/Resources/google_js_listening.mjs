// Listeners of Google's JavaScript SDK, and what it does without a network. Used by google_js_calls.mjs.

import assert from "node:assert/strict";
import { connect, ids, Listener, sdk, within } from "./google_js_steps.mjs";

const { collection, deleteDoc, doc, limit, onSnapshot, orderBy, query, setDoc, updateDoc, where } = sdk;

const listen = (target, options = {}) => new Listener((next, error) => onSnapshot(target, options, next, error));
const changes = (snapshot) =>
  snapshot.docChanges().map(({ type, doc, oldIndex, newIndex }) => `${type} ${doc.id} ${oldIndex} ${newIndex}`);
const isSettled = (snapshot) => !snapshot.metadata.fromCache && !snapshot.metadata.hasPendingWrites;

/** `db` listens, and `other` is another client, which writes. */
export async function listenerSteps(steps, project) {
  const step = (name, body) => steps.step(name, body);
  const [db, other] = [connect(sdk, project), connect(sdk, project)];
  await documentListeners(step, db, other);
  await queryListeners(step, db, other);
  await offlineSteps(step, db, other);
  await cacheSteps(step, db, other);
  await step("a client that was ended refuses calls, and a new one sees what it wrote", async () => {
    await setDoc(doc(db, "ended/a"), { n: 1 });
    await sdk.terminate(db);
    await assert.rejects(async () => sdk.getDoc(doc(db, "ended/a")), /terminated/);
    assert.deepEqual((await sdk.getDoc(doc(connect(sdk, project), "ended/a"))).data(), { n: 1 });
  });
}

async function documentListeners(step, db, other) {
  await step("a document's listener hears of creation, change and deletion by another client", async () => {
    const listener = listen(doc(db, "listened/a"));
    await listener.hears("the missing document", (snapshot) => !snapshot.exists() && isSettled(snapshot));
    await setDoc(doc(other, "listened/a"), { n: 1 });
    await listener.hears("the creation", (snapshot) => snapshot.data()?.n === 1);
    await updateDoc(doc(other, "listened/a"), { n: 2 });
    await listener.hears("the change", (snapshot) => snapshot.data()?.n === 2);
    await deleteDoc(doc(other, "listened/a"));
    await listener.hears("the deletion", (snapshot) => !snapshot.exists());
    listener.end();
  });
  await step("with changes of metadata, a write is pending first and then confirmed", async () => {
    const listener = listen(doc(db, "listened/b"), { includeMetadataChanges: true });
    await listener.hears("the missing document", (snapshot) => !snapshot.exists() && isSettled(snapshot));
    const before = listener.snapshots.length;
    await setDoc(doc(db, "listened/b"), { n: 1, at: sdk.serverTimestamp() });
    const confirmed = await listener.hears("the confirmation", (snapshot) => snapshot.exists() && isSettled(snapshot));
    const [pending] = listener.snapshots.slice(before);
    assert.equal(pending.metadata.hasPendingWrites, true);
    assert.equal(pending.data().at, null);
    assert.ok(pending.data({ serverTimestamps: "estimate" }).at instanceof sdk.Timestamp);
    assert.ok(confirmed.data().at instanceof sdk.Timestamp);
    listener.end();
  });
  await step("snapshots of two listeners come in sync", async () => {
    const [first, second] = [listen(doc(db, "listened/c")), listen(query(collection(db, "listened"), where("c", ">", 0)))];
    await first.hears("the missing document", isSettled);
    await second.hears("nothing", isSettled);
    const inSync = new Promise((resolve) => {
      const end = sdk.onSnapshotsInSync(db, () => {
        const [one, many] = [first.last.data()?.c ?? 0, second.last.docs.map((found) => found.data().c)];
        assert.deepEqual(many, one ? [one] : []);
        if (one === 2) resolve(end());
      });
    });
    await setDoc(doc(other, "listened/c"), { c: 1 });
    await setDoc(doc(other, "listened/c"), { c: 2 });
    await within("a moment in sync", inSync);
    first.end();
    second.end();
  });
}

async function queryListeners(step, db, other) {
  const notes = collection(db, "notes");
  const write = (id, fields) => setDoc(doc(other, "notes", id), fields);
  await step("a query's listener hears of additions, moves and removals, with their places", async () => {
    await write("a", { n: 1, open: true });
    await write("b", { n: 2, open: true });
    await write("hidden", { n: 0, open: false });
    const listener = listen(query(notes, where("open", "==", true), orderBy("n")));
    const hears = (what, expected) => listener.hears(what, (snapshot) => isSettled(snapshot) && `${ids(snapshot)}` === expected);
    const first = await hears("the first result", "a,b");
    assert.deepEqual(changes(first), ["added a -1 0", "added b -1 1"]);
    await write("c", { n: 1.5, open: true });
    assert.deepEqual(changes(await hears("an addition", "a,c,b")), ["added c -1 1"]);
    await write("a", { n: 3, open: true });
    assert.deepEqual(changes(await hears("a move", "c,b,a")), ["modified a 0 2"]);
    await updateDoc(doc(other, "notes/b"), { open: false });
    assert.deepEqual(changes(await hears("a document that matches no more", "c,a")), ["removed b 1 -1"]);
    await deleteDoc(doc(other, "notes/c"));
    assert.deepEqual(changes(await hears("a deletion", "a")), ["removed c 0 -1"]);
    listener.end();
  });
  await step("a limited query is filled up when a document leaves it", async () => {
    for (const n of [1, 2, 3, 4]) await setDoc(doc(other, "limited", `d${n}`), { n });
    const all = query(collection(db, "limited"), orderBy("n"));
    const [first, last] = [listen(query(all, limit(2))), listen(query(all, sdk.limitToLast(2)))];
    await first.hears("the first two", (snapshot) => isSettled(snapshot) && `${ids(snapshot)}` === "d1,d2");
    await last.hears("the last two", (snapshot) => isSettled(snapshot) && `${ids(snapshot)}` === "d3,d4");
    await deleteDoc(doc(other, "limited/d1"));
    await deleteDoc(doc(other, "limited/d4"));
    await first.hears("the next one", (snapshot) => isSettled(snapshot) && `${ids(snapshot)}` === "d2,d3");
    await last.hears("the one before", (snapshot) => isSettled(snapshot) && `${ids(snapshot)}` === "d2,d3");
    first.end();
    last.end();
  });
  await step("listeners to a collection group and to alternatives hear of both collections", async () => {
    const both = sdk.or(where("kind", "==", "x"), where("kind", "==", "y"));
    const listener = listen(query(sdk.collectionGroup(db, "leaves"), both));
    await listener.hears("nothing", isSettled);
    await setDoc(doc(other, "trees/a/leaves/1"), { kind: "x" });
    await setDoc(doc(other, "trees/b/leaves/2"), { kind: "y" });
    await setDoc(doc(other, "trees/b/leaves/3"), { kind: "z" });
    await listener.hears("both", (snapshot) => isSettled(snapshot) && `${ids(snapshot)}` === "1,2");
    listener.end();
  });
  await step("a listener that has ended hears no more", async () => {
    const ended = listen(collection(db, "quiet"));
    await ended.hears("nothing", isSettled);
    ended.end();
    const heard = ended.snapshots.length;
    const witness = listen(collection(db, "quiet"));
    await setDoc(doc(other, "quiet/a"), {});
    await witness.hears("the document", (snapshot) => isSettled(snapshot) && snapshot.size === 1);
    assert.equal(ended.snapshots.length, heard);
    witness.end();
  });
  await step("a listener whose query is refused hears the error", async () => {
    const refused = listen(query(notes, where(sdk.documentId(), "==", "__a__")));
    const error = await refused.hears("the error", () => false).catch((reason) => reason);
    assert.equal(error.code, "invalid-argument");
  });
}

async function offlineSteps(step, db, other) {
  await step("offline: writes are pending, listeners go on from the cache, and all is sent when back online", async () => {
    const listener = listen(collection(db, "offline"), { includeMetadataChanges: true });
    await setDoc(doc(db, "offline/a"), { n: 1 });
    await listener.hears("the document", (snapshot) => snapshot.size === 1 && isSettled(snapshot));
    await sdk.disableNetwork(db);
    let isConfirmed = false;
    const write = Promise.all([
      updateDoc(doc(db, "offline/a"), { n: sdk.increment(1) }), setDoc(doc(db, "offline/b"), { n: 1 }),
    ]).then(() => { isConfirmed = true; });
    const cached = await listener.hears("the pending writes", (snapshot) => snapshot.size === 2 && snapshot.metadata.fromCache);
    assert.deepEqual(cached.docs.map((found) => found.data().n), [2, 1]);
    assert.equal(cached.metadata.hasPendingWrites, true);
    assert.equal(isConfirmed, false);
    assert.equal((await sdk.getDoc(doc(other, "offline/b"))).exists(), false);
    await sdk.enableNetwork(db);
    await within("the pending writes are confirmed", sdk.waitForPendingWrites(db));
    await within("the writes succeed", write);
    await listener.hears("the confirmation", isSettled);
    assert.deepEqual((await sdk.getDoc(doc(other, "offline/a"))).data(), { n: 2 });
    listener.end();
  });
  await step("offline: another client's changes and deletions are caught up with", async () => {
    for (const n of [1, 2, 3, 4, 5]) await setDoc(doc(other, "missed", `d${n}`), { n });
    const listener = listen(collection(db, "missed"));
    await listener.hears("all", (snapshot) => snapshot.size === 5 && isSettled(snapshot));
    await sdk.disableNetwork(db);
    await listener.hears("the network's end", (snapshot) => snapshot.metadata.fromCache).catch(() => {});
    await deleteDoc(doc(other, "missed/d1"));
    await updateDoc(doc(other, "missed/d2"), { n: 20 });
    await setDoc(doc(other, "missed/d6"), { n: 6 });
    await sdk.enableNetwork(db);
    await listener.hears("what was missed", (snapshot) => {
      const found = snapshot.docs.map((document) => `${document.id} ${document.data().n}`);
      return isSettled(snapshot) && `${found}` === "d2 20,d3 3,d4 4,d5 5,d6 6";
    });
    listener.end();
  });
}

async function cacheSteps(step, db, other) {
  await step("reads of the cache and of the server are told apart", async () => {
    await setDoc(doc(other, "cached/a"), { n: 1 });
    await assert.rejects(sdk.getDocFromCache(doc(db, "cached/a")), { code: "unavailable" });
    const listener = listen(collection(db, "cached"));
    await listener.hears("the document", (snapshot) => snapshot.size === 1 && isSettled(snapshot));
    assert.equal((await sdk.getDocFromCache(doc(db, "cached/a"))).metadata.fromCache, true);
    assert.equal((await sdk.getDocsFromCache(collection(db, "cached"))).size, 1);
    assert.equal((await sdk.getDocFromServer(doc(db, "cached/a"))).metadata.fromCache, false);
    assert.equal((await sdk.getDocsFromServer(collection(db, "cached"))).metadata.fromCache, false);
    await sdk.disableNetwork(db);
    await assert.rejects(sdk.getDocFromServer(doc(db, "cached/a")), { code: "unavailable" });
    await sdk.enableNetwork(db);
    listener.end();
  });
  await step("a bundle's documents and named query are loaded, and the query's listener goes on from it", async () => {
    await setDoc(doc(other, "bundled/a"), { n: 1 });
    await sdk.loadBundle(db, bundle(db.app.options.projectId));
    const named = await sdk.namedQuery(db, "those");
    assert.deepEqual((await sdk.getDocsFromCache(named)).docs.map((found) => found.data()), [{ n: 0 }]);
    const listener = listen(named);
    await listener.hears("the newer document", (snapshot) => isSettled(snapshot) && snapshot.docs[0].data().n === 1);
    listener.end();
  });
}

/** A bundle of the document bundled/a as it was at a time long past, with the query of its collection. */
function bundle(project) {
  const parent = `projects/${project}/databases/(default)/documents`;
  const [name, time] = [`${parent}/bundled/a`, "2020-01-01T00:00:00.000000Z"];
  const structuredQuery = { from: [{ collectionId: "bundled" }] };
  const elements = [
    { namedQuery: { name: "those", readTime: time, bundledQuery: { parent, structuredQuery, limitType: "FIRST" } } },
    { documentMetadata: { name, readTime: time, exists: true, queries: ["those"] } },
    { document: { name, createTime: time, updateTime: time, fields: { n: { integerValue: "0" } } } },
  ];
  const framed = (element) => {
    const text = JSON.stringify(element);
    return `${Buffer.byteLength(text)}${text}`;
  };
  const body = elements.map(framed).join("");
  const metadata = { id: "bundle", createTime: time, version: 1, totalDocuments: 1, totalBytes: Buffer.byteLength(body) };
  return framed({ metadata }) + body;
}
