// @firebase/rules-unit-testing, unchanged, as apps use it to test their rules.
//
//   node rules_unit_testing.mjs PACKAGES_FOLDER
//
// Uses FIRESTORE_EMULATOR_HOST. Prints a line for each step, with what came out, and ends with the line
// "rules unit testing: N passed, M failed, 0 skipped", and with status 0 if none failed.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";

const [folder] = process.argv.slice(2);
if (!folder || !process.env.FIRESTORE_EMULATOR_HOST) {
  console.error("usage: FIRESTORE_EMULATOR_HOST=HOST:PORT node rules_unit_testing.mjs PACKAGES_FOLDER");
  process.exit(2);
}
// An import statement looks for packages beside this file only.
const require = createRequire(path.resolve(folder, "rules_unit_testing.cjs"));
const testing = require("@firebase/rules-unit-testing");
const sdk = require("firebase/firestore");
// What is denied is expected.
sdk.setLogLevel("silent");

const rules = `
rules_version = '2';
service cloud.firestore {
  match /databases/{database}/documents {
    function signedIn() { return request.auth != null; }
    function hasRole(role) { return signedIn() && role in request.auth.token.get('roles', []); }
    match /notes/{note} {
      allow get: if signedIn() && (resource == null || resource.data.owner == request.auth.uid);
      allow list: if signedIn() && resource.data.owner == request.auth.uid;
      allow create: if signedIn() && request.resource.data.owner == request.auth.uid
        && request.resource.data.keys().hasOnly(['owner', 'text', 'made'])
        && request.resource.data.get('made', request.time) == request.time;
      allow update: if resource.data.owner == request.auth.uid
        && !request.resource.data.diff(resource.data).affectedKeys().hasAny(['owner']);
      allow delete: if hasRole('cleaner');
    }
    match /rooms/{room} {
      allow read: if exists(/databases/$(database)/documents/rooms/$(room)/members/$(request.auth.uid));
      allow create: if existsAfter(/databases/$(database)/documents/rooms/$(room)/members/$(request.auth.uid));
      match /members/{member} { allow create: if member == request.auth.uid; }
      match /messages/{message} {
        allow read, create: if get(/databases/$(database)/documents/rooms/$(room)).data.open == true;
      }
    }
    match /public/{document} { allow read; }
    match /verified/{document} { allow read: if request.auth.token.email_verified == true; }
    match /{path=**}/logs/{log} { allow list: if hasRole('auditor') && request.query.limit <= 2; }
  }
}`;

let passed = 0;
let failed = 0;

/** A step with a name. A failing one is told with its error, and the others are still run. */
async function step(name, body) {
  try {
    await body();
    passed += 1;
    console.log(`rules unit testing: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`rules unit testing: FAILED: ${name}: ${error.stack ?? error}`);
  }
}

const run = Date.now();
const environment = await testing.initializeTestEnvironment({ projectId: `demo-rules-${run}`, firestore: { rules } });
const open = await testing.initializeTestEnvironment({
  projectId: `demo-open-${run}`,
  firestore: { rules: rules.replace("match /public/{document} { allow read; }", "match /public/{document} { allow read, write; }") },
});

const ada = environment.authenticatedContext("ada", { email: "ada@example.com", email_verified: true }).firestore();
const bob = environment.authenticatedContext("bob", { roles: ["cleaner", "auditor"] }).firestore();
const nobody = environment.unauthenticatedContext().firestore();
const allowed = testing.assertSucceeds;
const denied = testing.assertFails;
const { doc, collection, collectionGroup, query, where, limit, getDoc, getDocs, setDoc, updateDoc, deleteDoc } = sdk;

/** Documents that no rule lets anybody write. */
const prepare = () => environment.withSecurityRulesDisabled(async (context) => {
  const db = context.firestore();
  await setDoc(doc(db, "notes/of-ada"), { owner: "ada", text: "mine" });
  await setDoc(doc(db, "rooms/open"), { open: true });
  await setDoc(doc(db, "rooms/closed"), { open: false });
  await setDoc(doc(db, "rooms/closed/members/ada"), {});
  await setDoc(doc(db, "public/news"), { text: "for all" });
  await setDoc(doc(db, "places/a/logs/1"), { n: 1 });
});

/** The first outcome of a listener. */
const heard = (target) => new Promise((resolve, reject) => {
  const stop = sdk.onSnapshot(target, (snapshot) => { resolve(snapshot); stop(); }, reject);
});

await step("documents are written with the rules disabled", prepare);
await step("anybody reads what is public, and writes nothing", async () => {
  assert.deepEqual((await allowed(getDoc(doc(nobody, "public/news")))).data(), { text: "for all" });
  await denied(setDoc(doc(nobody, "public/news"), { text: "false" }));
  await denied(setDoc(doc(ada, "public/more"), {}));
});
await step("what no match names is denied", async () => {
  await denied(getDoc(doc(ada, "elsewhere/x")));
  await denied(getDocs(collection(nobody, "elsewhere")));
});
await step("a document is its owner's", async () => {
  await allowed(getDoc(doc(ada, "notes/of-ada")));
  await denied(getDoc(doc(bob, "notes/of-ada")));
  await denied(getDoc(doc(nobody, "notes/of-ada")));
  await allowed(getDoc(doc(bob, "notes/missing")));
});
await step("fields are checked when a document is made", async () => {
  await allowed(setDoc(doc(bob, "notes/of-bob"), { owner: "bob", text: "his", made: sdk.serverTimestamp() }));
  await denied(setDoc(doc(bob, "notes/false"), { owner: "ada", text: "not his" }));
  await denied(setDoc(doc(bob, "notes/more"), { owner: "bob", admin: true }));
  await denied(setDoc(doc(bob, "notes/early"), { owner: "bob", made: new Date(0) }));
});
await step("changes are compared with what was there", async () => {
  await allowed(updateDoc(doc(ada, "notes/of-ada"), { text: "changed" }));
  await denied(updateDoc(doc(ada, "notes/of-ada"), { owner: "bob" }));
  await denied(updateDoc(doc(bob, "notes/of-ada"), { text: "his now" }));
});
await step("queries are allowed if every document that they could return is", async () => {
  await allowed(getDocs(query(collection(ada, "notes"), where("owner", "==", "ada"))));
  await denied(getDocs(query(collection(ada, "notes"), where("owner", "==", "bob"))));
  await denied(getDocs(collection(ada, "notes")));
  const count = await allowed(sdk.getCountFromServer(query(collection(ada, "notes"), where("owner", "==", "ada"))));
  assert.equal(count.data().count, 1);
  await denied(sdk.getCountFromServer(collection(ada, "notes")));
});
await step("claims decide", async () => {
  await allowed(getDoc(doc(ada, "verified/a")));
  await denied(getDoc(doc(bob, "verified/a")));
  await denied(deleteDoc(doc(ada, "notes/of-ada")));
  await allowed(deleteDoc(doc(bob, "notes/of-bob")));
});
await step("collection groups and limits", async () => {
  const found = await allowed(getDocs(query(collectionGroup(bob, "logs"), limit(2))));
  assert.equal(found.size, 1);
  await denied(getDocs(query(collectionGroup(bob, "logs"), limit(3))));
  await denied(getDocs(query(collectionGroup(ada, "logs"), limit(2))));
});
await step("other documents decide, before and after the write", async () => {
  await allowed(getDoc(doc(ada, "rooms/closed")));
  await denied(getDoc(doc(bob, "rooms/closed")));
  await denied(setDoc(doc(bob, "rooms/new"), { open: true }));
  const batch = sdk.writeBatch(bob);
  batch.set(doc(bob, "rooms/new"), { open: true });
  batch.set(doc(bob, "rooms/new/members/bob"), {});
  await allowed(batch.commit());
  await allowed(sdk.addDoc(collection(bob, "rooms/new/messages"), { text: "hello" }));
  await denied(sdk.addDoc(collection(bob, "rooms/closed/messages"), { text: "hello" }));
});
await step("a batch of which one write is denied writes nothing", async () => {
  const batch = sdk.writeBatch(ada);
  batch.update(doc(ada, "notes/of-ada"), { text: "half" });
  batch.set(doc(ada, "public/half"), {});
  await denied(batch.commit());
  assert.equal((await getDoc(doc(ada, "notes/of-ada"))).data().text, "changed");
});
await step("transactions", async () => {
  await allowed(sdk.runTransaction(ada, async (transaction) => {
    const note = await transaction.get(doc(ada, "notes/of-ada"));
    transaction.update(note.ref, { text: note.data().text + " again" });
  }));
  await denied(sdk.runTransaction(bob, (transaction) => transaction.get(doc(bob, "notes/of-ada"))));
});
await step("listeners", async () => {
  assert.equal((await allowed(heard(doc(ada, "notes/of-ada")))).data().text, "changed again");
  assert.equal((await allowed(heard(query(collection(ada, "notes"), where("owner", "==", "ada"))))).size, 1);
  await denied(heard(doc(bob, "notes/of-ada")));
  await denied(heard(collection(nobody, "notes")));
});
await step("each project has rules of its own", async () => {
  await allowed(setDoc(doc(open.unauthenticatedContext().firestore(), "public/mine"), { n: 1 }));
  await denied(setDoc(doc(nobody, "public/mine"), { n: 1 }));
});
await step("rules that are none are refused, and the old ones stay", async () => {
  await assert.rejects(testing.initializeTestEnvironment({
    projectId: environment.projectId, firestore: { rules: "rules_version = '2'; service cloud.firestore { match" },
  }));
  await allowed(getDoc(doc(nobody, "public/news")));
  await denied(getDocs(collection(nobody, "notes")));
});
await step("rules are replaced", async () => {
  const replaced = await testing.initializeTestEnvironment({
    projectId: environment.projectId, firestore: { rules: rules.replace("match /public/{document} { allow read; }", "") },
  });
  await denied(getDoc(doc(replaced.unauthenticatedContext().firestore(), "public/news")));
  await replaced.cleanup();
});
await step("clearing removes what is there, and keeps the rules", async () => {
  await environment.clearFirestore();
  await environment.withSecurityRulesDisabled(async (context) => {
    assert.equal((await getDocs(collection(context.firestore(), "notes"))).size, 0);
  });
  await denied(getDoc(doc(nobody, "notes/x")));
});
await environment.cleanup();
await open.cleanup();
console.log(`rules unit testing: ${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed === 0 ? 0 : 1);
