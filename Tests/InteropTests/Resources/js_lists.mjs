// Carries out transactions on lists with Google's JavaScript SDK: a plan per line of standard input, an answer per line of output.
// Arguments: the folder of the packages, the address of the server, the project, and "failing" for servers that fail: a transaction whose block
// has run again is then uncertain, since the SDK also repeats one whose commit has lost its answer.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, address, project, servers] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { initializeApp } = require("firebase/app");
const firestore = require("firebase/firestore");

const app = initializeApp({ projectId: project, apiKey: "key" });
const db = firestore.getFirestore(app);
const [host, port] = address.split(":");
firestore.connectFirestoreEmulator(db, host, Number(port));
firestore.setLogLevel("silent");

const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");
const list = (name) => firestore.doc(db, "lists", name);

function write(plan, reads, target) {
  for (const append of plan.appends) {
    const fields = { epoch: plan.epoch, group: append.group };
    if (append.isBlind || !(append.list in reads)) {
      target.set(list(append.list), { ...fields, numbers: firestore.arrayUnion(append.number) }, { merge: true });
    } else {
      // A number that is there comes from a run of the block before, which was committed.
      const numbers = reads[append.list];
      const isThere = numbers.includes(append.number);
      target.set(list(append.list), { ...fields, numbers: isThere ? numbers : [...numbers, append.number] });
    }
  }
}

let runs = 0;

async function perform(plan) {
  if (plan.reads.length === 0) {
    const batch = firestore.writeBatch(db);
    write(plan, {}, batch);
    say("reads");
    await batch.commit();
    return {};
  }
  return await firestore.runTransaction(db, async (transaction) => {
    runs += 1;
    const reads = {};
    for (const name of plan.reads) {
      const snapshot = await transaction.get(list(name));
      reads[name] = snapshot.exists() ? snapshot.get("numbers") : [];
    }
    say("reads");
    write(plan, reads, transaction);
    return reads;
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const plan = JSON.parse(line);
  const isUncertain = () => servers === "failing" && runs > 1;
  runs = 0;
  try {
    const reads = await perform(plan);
    say(isUncertain() ? { outcome: "unknown", reads: {} } : { outcome: "committed", reads });
  } catch (error) {
    const isCertain = !isUncertain() && (error.code === "aborted" || error.code === "failed-precondition");
    say({ outcome: isCertain ? "failed" : "unknown", reads: {} });
  }
}
process.exit(0);
