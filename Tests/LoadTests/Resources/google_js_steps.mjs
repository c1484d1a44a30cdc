// What the programs with Google's JavaScript SDK share: the packages, an app for each client, waiting, and named steps that are counted.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";

const WAIT_LIMIT_MS = 15000;
const [folder] = process.argv.slice(2);
const address = process.env.FIRESTORE_EMULATOR_HOST;
if (!folder || !address) {
  console.error(`usage: FIRESTORE_EMULATOR_HOST=HOST:PORT node ${path.basename(process.argv[1])} SDK_FOLDER`);
  process.exit(2);
}
// An import statement looks for packages beside this file only.
const require = createRequire(path.resolve(folder, "google_js.cjs"));
const { deleteApp, initializeApp } = require("firebase/app");
/** The SDK, which talks gRPC in Node, and its small sister, which talks REST. */
export const sdk = require("firebase/firestore");
export const lite = require("firebase/firestore/lite");
// Errors are thrown; what the SDK also logs of them is of tests that expect them.
sdk.setLogLevel("silent");
lite.setLogLevel("silent");

const { hostname, port } = new URL(`http://${address}`);
const apps = [];

/** A client of its own, with a cache and a connection of its own. */
export function connect(api, projectId, database = "(default)") {
  const app = initializeApp({ projectId, apiKey: "none" }, `app ${apps.length}`);
  apps.push(app);
  const db = api.initializeFirestore(app, {}, database);
  // Without one, the SDK sends none to an emulator.
  const token = process.env.HEARTH_SUITE_TOKEN;
  api.connectFirestoreEmulator(db, hostname, Number(port), token ? { mockUserToken: token } : {});
  return db;
}

export async function disconnectAll() {
  await Promise.all(apps.splice(0).map((app) => deleteApp(app)));
}

/** The promise's result, or a failure that names what did not come. */
export function within(what, promise, limitMs = WAIT_LIMIT_MS) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${limitMs} ms`)), limitMs);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

/** Expects an error with this code. */
export async function refused(code, promise) {
  const outcome = await within(code, promise.then(() => "succeeded", (error) => error.code ?? String(error)));
  assert.equal(outcome, code);
}

/** The snapshots of a listener, and waiting for one of them. */
export class Listener {
  snapshots = [];
  #waiting = new Set();

  /** @param listen takes the functions for a snapshot and for an error, and returns what ends the listener. */
  constructor(listen) {
    this.end = listen(
      (snapshot) => {
        this.snapshots.push(snapshot);
        for (const check of [...this.#waiting]) check();
      },
      (error) => {
        this.error = error;
        for (const check of [...this.#waiting]) check();
      });
  }

  get last() { return this.snapshots.at(-1); }

  /** Resolves with the first snapshot from here on, or the last one, for which the condition holds. */
  hears(what, condition, limitMs = WAIT_LIMIT_MS) {
    let check;
    const heard = new Promise((resolve, reject) => {
      check = () => {
        if (this.error) reject(this.error);
        else if (this.last && condition(this.last)) resolve(this.last);
      };
      this.#waiting.add(check);
      check();
    });
    return within(`the listener hears of ${what}`, heard, limitMs).finally(() => this.#waiting.delete(check));
  }
}

export const ids = (snapshot) => snapshot.docs.map((document) => document.id);

/** Steps with names. A failing one is told with its error, and the others are still run. */
export class Steps {
  passed = 0;
  failed = 0;

  constructor(kind) { this.kind = kind; }

  async step(name, body) {
    try {
      await body();
      this.passed += 1;
      console.log(`${this.kind}: ${name}`);
    } catch (error) {
      this.failed += 1;
      console.log(`${this.kind}: FAILED: ${name}: ${error.stack ?? error}`);
    }
  }
}
