// Twenty processes with Google's JavaScript SDK use one database: listeners, writes, transactions, and the network off and on again.
//
//   node google_js_soak.mjs SDK_FOLDER [SEED] [SECONDS]
//
// Uses FIRESTORE_EMULATOR_HOST. At the end each client's views have to equal what a client over REST reads afresh, the money that was
// transferred has to be all there, and each increment has to be there once. Ends with a line "google javascript soak: 20 passed,
// 0 failed, 0 skipped", and with status 0 if none failed. A seed repeats what the clients choose, and not how their calls interleave.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { connect, lite, within } from "./google_js_steps.mjs";
import { ACCOUNTS, COUNTERS, BALANCE, PROJECT, VIEWS, textOf } from "./google_js_soak_data.mjs";

const CLIENTS = 20;
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e9));
const seconds = Number(process.argv[4] ?? 120);
// Starting twenty processes on a busy machine takes a while.
const PHASE_LIMIT_MS = 120000;

/** A client's process. It answers each order with a message of the same name. */
class Client {
  failures = [];
  #answers = new Map();

  constructor(index) {
    this.index = index;
    const program = fileURLToPath(new URL("google_js_soak_client.mjs", import.meta.url));
    this.#process = fork(program, [process.argv[2], String(seed), String(index)]);
    this.#process.on("message", ({ name, ...answer }) => {
      if (name === "failure") this.failures.push(answer.text);
      else this.#answers.get(name)?.(answer);
    });
    this.#process.on("exit", (status) => {
      if (!this.#isEnded) this.failures.push(`the process ended with status ${status}`);
      for (const answer of this.#answers.values()) answer({});
    });
  }

  #process;
  #isEnded = false;

  /** The answer, or nothing from a client that does not give one, which counts as its failure. */
  async call(name, order = {}, limitMs = PHASE_LIMIT_MS) {
    if (!this.#process.connected) return {};
    const answer = new Promise((resolve) => this.#answers.set(name, resolve));
    this.#process.send({ name, ...order });
    return within(name, answer, limitMs).catch((error) => {
      this.failures.push(error.message);
      return {};
    });
  }

  end() {
    this.#isEnded = true;
    this.#process.kill();
  }
}

/** What a client that has no cache reads afresh. */
async function fresh(db) {
  const texts = {};
  for (const [name, make] of Object.entries(VIEWS)) texts[name] = textOf(await lite.getDocs(make(lite, db)));
  return texts;
}

/** Everything about the sums that is wrong. */
async function wrongSums(db, tallies) {
  const wrong = [];
  const accounts = await lite.getDocs(lite.collection(db, "accounts"));
  const money = accounts.docs.reduce((sum, account) => sum + account.data().balance, 0);
  if (money !== ACCOUNTS * BALANCE) wrong.push(`the accounts hold ${money} instead of ${ACCOUNTS * BALANCE}`);
  const counters = (await lite.getDocs(lite.collection(db, "counters"))).docs.map((counter) => counter.data());
  for (const [index, { confirmed = 0 }] of tallies.entries()) {
    const found = counters.reduce((sum, counter) => sum + (counter.by?.[`client${index}`] ?? 0), 0);
    if (found !== confirmed) wrong.push(`client ${index} has incremented ${confirmed} times, and ${found} are stored`);
  }
  const total = counters.reduce((sum, { n }) => sum + n, 0);
  const confirmed = tallies.reduce((sum, tally) => sum + (tally.confirmed ?? 0), 0);
  if (total !== confirmed) wrong.push(`the counters say ${total} instead of ${confirmed}`);
  return wrong;
}

async function seedDocuments(db) {
  const batch = lite.writeBatch(db);
  for (let index = 0; index < ACCOUNTS; index += 1) batch.set(lite.doc(db, "accounts", `a${index}`), { balance: BALANCE });
  for (let index = 0; index < COUNTERS; index += 1) batch.set(lite.doc(db, "counters", `c${index}`), { n: 0 });
  await batch.commit();
}

const db = connect(lite, PROJECT);
console.log(`google javascript soak: seed ${seed}, ${CLIENTS} clients, ${seconds} s`);
await seedDocuments(db);
const clients = Array.from({ length: CLIENTS }, (_, index) => new Client(index));
const all = (name, order, limitMs) => Promise.all(clients.map((client) => client.call(name, order, limitMs)));

await all("listen");
const tallies = await all("work", { seconds }, seconds * 1000 + PHASE_LIMIT_MS);
// All have written everything now, so what is read afresh stays.
const expected = await fresh(db);
await all("compare", { expected });
const wrong = await wrongSums(db, tallies);
for (const client of clients) client.end();

const sum = (key) => tallies.reduce((total, tally) => total + (tally[key] ?? 0), 0);
const activities = ["notes", "transfers", "aborted", "confirmed", "offline", "relistened", "snapshots"];
console.log(`google javascript soak: ${activities.map((key) => `${key} ${sum(key)}`).join(", ")}`);
for (const key of ["notes", "transfers", "confirmed", "offline", "snapshots"]) {
  if (sum(key) === 0) wrong.push(`nobody did: ${key}`);
}
for (const client of clients) {
  for (const text of client.failures) console.log(`google javascript soak: client ${client.index}: ${text}`);
}
for (const text of wrong) console.log(`google javascript soak: ${text}`);
const failed = clients.filter((client) => client.failures.length > 0).length;
console.log(`google javascript soak: ${CLIENTS - failed} passed, ${failed} failed, 0 skipped`);
console.log(`google javascript soak sums: ${wrong.length === 0 ? "right" : "wrong"}`);
process.exit(failed === 0 && wrong.length === 0 ? 0 : 1);
