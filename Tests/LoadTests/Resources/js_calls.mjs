// Google's JavaScript SDK in Node: many calls one after the other, beside a listener that must hear of another client's changes.
//
//   node js_calls.mjs SDK_FOLDER
//
// SDK_FOLDER holds node_modules/firebase. Uses FIRESTORE_EMULATOR_HOST and GOOGLE_CLOUD_PROJECT. Ends with a line
// "js calls: calls=2000 errors=0 …" and status 0, or with status 1 if a call failed, the listener heard of a change late or
// not at all, or a connection broke.

import { subscribe } from "node:diagnostics_channel";
import { createRequire } from "node:module";
import path from "node:path";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const CALLS = 2000;
const CALLS_PER_CHANGE = 200;
const CHANGE_LIMIT_MS = 1000;
// Longer than CHANGE_LIMIT_MS, so that a late change fails with the time that it took.
const WAIT_LIMIT_MS = 15000;
const SHOWN_ERRORS = 5;

const [folder] = process.argv.slice(2);
const address = process.env.FIRESTORE_EMULATOR_HOST;
if (!folder || !address) {
  console.error("usage: FIRESTORE_EMULATOR_HOST=HOST:PORT node js_calls.mjs SDK_FOLDER");
  process.exit(2);
}
// An import statement looks for packages beside this file only.
const require = createRequire(path.resolve(folder, "js_calls.cjs"));
const { initializeApp } = require("firebase/app");
const firestore = require("firebase/firestore");

// A client keeps one connection. The SDK replaces a broken one without an error that its user would see.
let connections = 0;
subscribe("net.client.socket", () => { connections += 1; });

const { hostname, port } = new URL(`http://${address}`);
const projectId = process.env.GOOGLE_CLOUD_PROJECT ?? "js-calls";
const db = firestore.getFirestore(initializeApp({ projectId, apiKey: "none" }));
firestore.connectFirestoreEmulator(db, hostname, Number(port));

let errors = 0;

function failed(what, error) {
  errors += 1;
  if (errors <= SHOWN_ERRORS) console.error(`js calls: error: ${what}: ${error.message ?? error}`);
}

function within(limitMs, promise) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

/** The other client. It runs on a thread of its own: clients on one thread share a connection to the same address. */
class Writer {
  #worker = new Worker(new URL(import.meta.url), { argv: [folder] });
  #replies = new Map();
  connections = 0;

  constructor() {
    this.#worker.on("error", (error) => failed("the writing client", error));
    this.#worker.on("message", ({ path, error, connections }) => {
      const { resolve, reject } = this.#replies.get(path);
      this.#replies.delete(path);
      this.connections = connections;
      if (error) reject(new Error(error));
      else resolve();
    });
  }

  /** Resolves when the server has confirmed the write. */
  set(path, fields) {
    const confirmed = new Promise((resolve, reject) => this.#replies.set(path, { resolve, reject }));
    this.#worker.postMessage({ path, fields });
    return within(WAIT_LIMIT_MS, confirmed);
  }

  static serve() {
    parentPort.on("message", async ({ path, fields }) => {
      let error;
      await firestore.setDoc(firestore.doc(db, path), fields).catch((reason) => { error = reason.message; });
      parentPort.postMessage({ path, error, connections });
    });
  }
}

/** A listener to a collection of numbered documents. */
class Listener {
  #heard = new Map();

  constructor(collection) {
    this.collection = collection;
  }

  /** Resolves with the first state that does not come from the client's cache. */
  start() {
    return within(WAIT_LIMIT_MS, new Promise((resolve, reject) => {
      firestore.onSnapshot(firestore.collection(db, this.collection), (snapshot) => {
        for (const { type, doc } of snapshot.docChanges()) {
          if (type !== "added") failed("listener", new Error(`${doc.id} was ${type}`));
          this.#heard.get(doc.id)?.();
          this.#heard.delete(doc.id);
        }
        if (!snapshot.metadata.fromCache) resolve(snapshot);
      }, (error) => {
        failed("listener", error);
        reject(error);
      });
    }));
  }

  /** Resolves when the listener has reported the document. */
  hears(id) {
    return within(WAIT_LIMIT_MS, new Promise((resolve) => this.#heard.set(id, resolve)));
  }
}

async function run() {
  const run = Date.now();
  const cities = ["SF", "LA", "DC"];
  const writer = new Writer();
  const listener = new Listener(`changes-${run}`);

  /** Lets the other client write, and returns after how many milliseconds the listener has reported it. */
  async function change(id) {
    const start = performance.now();
    const heard = listener.hears(id).then(() => performance.now() - start);
    const [ms] = await Promise.all([heard, writer.set(`${listener.collection}/${id}`, { id })]);
    return ms;
  }

  async function count() {
    const query = firestore.collection(db, `cities-${run}`);
    const found = (await within(WAIT_LIMIT_MS, firestore.getCountFromServer(query))).data().count;
    if (found !== cities.length) throw new Error(`counted ${found} documents instead of ${cities.length}`);
  }

  for (const city of cities) await writer.set(`cities-${run}/${city}`, { city });
  await listener.start();

  let calls = 0;
  let worstMs = 0;
  const changes = [];
  const start = performance.now();
  while (calls < CALLS && errors < SHOWN_ERRORS) {
    calls += 1;
    await count().catch((error) => failed(`call ${calls}`, error));
    if (calls % CALLS_PER_CHANGE !== CALLS_PER_CHANGE / 2) continue;
    // The calls go on while the change is on its way.
    const id = `after-call-${calls}`;
    changes.push(change(id).then((ms) => {
      worstMs = Math.max(worstMs, ms);
      if (ms > CHANGE_LIMIT_MS) failed(id, new Error(`reported after ${ms.toFixed(0)} ms`));
    }, (error) => failed(id, error)));
  }
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(changes);
  if (connections !== 1) failed("connection", new Error(`the client that listens opened ${connections}`));
  if (writer.connections !== 1) failed("connection", new Error(`the client that writes opened ${writer.connections}`));
  console.log(
    `js calls: calls=${calls} errors=${errors} changes=${changes.length} worst_change_ms=${worstMs.toFixed(0)} ` +
    `connections=${connections + writer.connections} calls_per_second=${(calls / seconds).toFixed(0)}`);
}

if (isMainThread) {
  await run().catch((error) => failed("run", error));
  // Ends the process at once, whatever the SDK still keeps open.
  process.exit(errors === 0 ? 0 : 1);
} else {
  Writer.serve();
}
