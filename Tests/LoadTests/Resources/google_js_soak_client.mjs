// A client of google_js_soak.mjs, which starts it: node google_js_soak_client.mjs SDK_FOLDER SEED INDEX

import { setTimeout as pause } from "node:timers/promises";
import { connect, Listener, sdk, within } from "./google_js_steps.mjs";
import { ACCOUNTS, COUNTERS, GROUPS, NOTES, PROJECT, VIEWS, randomNumbers, textOf } from "./google_js_soak_data.mjs";

const VIEWS_PER_CLIENT = 3;
const COMPARE_LIMIT_MS = 60000;
const [seed, index] = process.argv.slice(3).map(Number);
const random = randomNumbers(seed * 64 + index);
const db = connect(sdk, PROJECT);
const tally = { notes: 0, transfers: 0, aborted: 0, confirmed: 0, offline: 0, relistened: 0, snapshots: 0 };
const views = new Map();
const answer = (name, fields = {}) => process.send({ name, ...fields });
const failed = (what, error) => answer("failure", { text: `${what}: ${error.stack ?? error}` });

// MARK: - Listeners

function listen(name) {
  const listener = new Listener((next, error) => sdk.onSnapshot(VIEWS[name](sdk, db), { includeMetadataChanges: true }, {
    next(snapshot) {
      tally.snapshots += 1;
      // The last one is enough, and two minutes have many.
      listener.snapshots.length = 0;
      next(snapshot);
    },
    error(reason) {
      failed(`listener ${name}`, reason);
      error(reason);
    },
  }));
  views.set(name, listener);
}

/** What is pending when a listener begins, and is deleted by another client before its first result, no server can know of. */
async function listenToOthers() {
  await allWritten();
  const [old] = views.keys();
  views.get(old).end();
  views.delete(old);
  listen(random.pick(Object.keys(VIEWS).filter((name) => !views.has(name))));
  tally.relistened += 1;
}

// MARK: - Writes

// What is written is awaited only before a transaction, and before the network is switched off: a write whose answer is lost is
// sent once more by the SDK, and would count twice on every backend.
const pending = new Set();

function write(what, promise, then = () => {}) {
  const outcome = promise.then(then, (error) => failed(what, error)).finally(() => pending.delete(outcome));
  pending.add(outcome);
}

const allWritten = () => within("the writes", Promise.all(pending), COMPARE_LIMIT_MS);

function writeNote() {
  const reference = sdk.doc(db, "notes", `n${random.below(NOTES)}`);
  const fields = {
    n: random.below(1000), group: random.pick(GROUPS), tags: [`t${random.below(6)}`], by: index, at: sdk.serverTimestamp(),
  };
  tally.notes += 1;
  switch (random.below(4)) {
    case 0: return write("delete", sdk.deleteDoc(reference));
    case 1: return write("merge", sdk.setDoc(reference, { n: fields.n, tags: sdk.arrayUnion(...fields.tags) }, { merge: true }));
    case 2: {
      const batch = sdk.writeBatch(db);
      batch.set(reference, fields).set(sdk.doc(db, "notes", `n${random.below(NOTES)}`), { ...fields, n: random.below(1000) });
      return write("batch", batch.commit());
    }
    default: return write("set", sdk.setDoc(reference, fields));
  }
}

function increment() {
  const reference = sdk.doc(db, "counters", `c${random.below(COUNTERS)}`);
  const fields = { n: sdk.increment(1), by: { [`client${index}`]: sdk.increment(1) } };
  write("increment", sdk.setDoc(reference, fields, { merge: true }), () => { tally.confirmed += 1; });
}

/** Twenty clients contend for ten accounts, so some transactions give up. Others' failures are failures of the test. */
async function transfer() {
  await allWritten();
  const from = random.below(ACCOUNTS);
  const to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
  const [source, target] = [from, to].map((account) => sdk.doc(db, "accounts", `a${account}`));
  const amount = 1 + random.below(10);
  try {
    await within("a transfer", sdk.runTransaction(db, async (transaction) => {
      const [one, other] = [await transaction.get(source), await transaction.get(target)];
      transaction.update(source, { balance: one.data().balance - amount });
      transaction.update(target, { balance: other.data().balance + amount });
    }), COMPARE_LIMIT_MS);
    tally.transfers += 1;
  } catch (error) {
    if (error.code !== "aborted" && error.code !== "failed-precondition") failed("transfer", error);
    else tally.aborted += 1;
  }
}

async function goOffline() {
  await allWritten();
  await sdk.disableNetwork(db);
  for (let count = 1 + random.below(5); count > 0; count -= 1) {
    random.pick([writeNote, increment])();
    await pause(random.below(500));
  }
  await sdk.enableNetwork(db);
  tally.offline += 1;
}

async function work(seconds) {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const choice = random.below(100);
    if (choice < 45) writeNote();
    else if (choice < 75) increment();
    else if (choice < 90) await transfer();
    else if (choice < 94) await goOffline();
    else await listenToOthers();
    await pause(100 + random.below(300));
  }
  await allWritten();
  await within("no write is pending", sdk.waitForPendingWrites(db), COMPARE_LIMIT_MS);
}

/** Waits until each view is in sync and equals what was read afresh. */
async function compare(expected) {
  for (const [name, listener] of views) {
    const isRight = (snapshot) =>
      !snapshot.metadata.fromCache && !snapshot.metadata.hasPendingWrites && textOf(snapshot) === expected[name];
    await listener.hears(`view ${name} as read afresh`, isRight, COMPARE_LIMIT_MS).catch((error) => {
      failed("compare", new Error(`${error.message}: ${textOf(listener.last)} instead of ${expected[name]}`));
    });
  }
}

process.on("message", async ({ name, ...order }) => {
  try {
    switch (name) {
      case "listen":
        for (let count = 0; count < VIEWS_PER_CLIENT; count += 1) {
          listen(random.pick(Object.keys(VIEWS).filter((view) => !views.has(view))));
        }
        for (const listener of views.values()) {
          await listener.hears("the server", (snapshot) => !snapshot.metadata.fromCache, COMPARE_LIMIT_MS);
        }
        break;
      case "work": await work(order.seconds); break;
      case "compare": await compare(order.expected); break;
    }
  } catch (error) {
    failed(name, error);
  }
  answer(name, tally);
});
process.on("disconnect", () => process.exit(0));
