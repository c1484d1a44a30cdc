// The documents and views of google_js_soak.mjs.

export const PROJECT = "js-soak";
export const ACCOUNTS = 10;
export const BALANCE = 100;
export const COUNTERS = 5;
export const NOTES = 60;
export const GROUPS = ["red", "green", "blue", "grey"];

const notes = (api, db, ...constraints) => api.query(api.collection(db, "notes"), ...constraints);

/** Queries by name, for the SDK and for its edition Lite. */
export const VIEWS = {
  all: (api, db) => notes(api, db),
  red: (api, db) => notes(api, db, api.where("group", "==", "red")),
  notRed: (api, db) => notes(api, db, api.where("group", "!=", "red")),
  some: (api, db) => notes(api, db, api.where("group", "in", ["green", "grey"]), api.orderBy("n", "desc")),
  first: (api, db) => notes(api, db, api.orderBy("n"), api.limit(7)),
  last: (api, db) => notes(api, db, api.orderBy("n"), api.limitToLast(7)),
  middle: (api, db) => notes(api, db, api.orderBy("n"), api.startAt(300), api.endBefore(600), api.limit(5)),
  either: (api, db) => notes(api, db, api.or(api.where("n", "<", 100), api.where("group", "==", "blue")), api.orderBy("n")),
  tagged: (api, db) => notes(api, db, api.where("tags", "array-contains-any", ["t1", "t2"])),
  group: (api, db) => api.query(api.collectionGroup(db, "notes"), api.where("n", ">=", 500)),
  accounts: (api, db) => api.query(api.collection(db, "accounts"), api.orderBy("balance")),
  counters: (api, db) => api.query(api.collection(db, "counters")),
};

/** Names in the result's order, and fields. Times are equal if they are the same moment, whichever edition has made them. */
export function textOf(snapshot) {
  const inOrder = (value) => {
    if (Array.isArray(value)) return value.map(inOrder);
    if (value === null || typeof value !== "object") return value;
    if (typeof value.toMillis === "function") return [value.seconds, value.nanoseconds];
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, inOrder(value[key])]));
  };
  return JSON.stringify(snapshot.docs.map((document) => [document.ref.path, inOrder(document.data())]));
}

/** Numbers from a seed: a multiply-with-carry generator is random enough for choices. */
export function randomNumbers(seed) {
  let [value, carry] = [(seed >>> 0) + 1, 362436];
  const below = (count) => {
    const product = value * 36969 + carry;
    [value, carry] = [product % 65536, Math.floor(product / 65536)];
    return Math.floor((value / 65536) * count);
  };
  for (let index = 0; index < 20; index += 1) below(1);
  return { below, pick: (list) => list[below(list.length)] };
}
