import Hearth

// section: SwiftUI property wrapper

func useQueryPredicates(flag: Bool, number: Int, text: String, value: Any, values: [Any]) {
  // row: enum DecodingFailureStrategy { case ignore, raise }
  let _: [DecodingFailureStrategy] = [.ignore, .raise]
  // row: enum QueryPredicate
  let predicates: [QueryPredicate] = [
    .isEqualTo(text, value), .isIn(text, values), .isNotIn(text, values), .arrayContains(text, value),
    .arrayContainsAny(text, values), .isLessThan(text, value), .isGreaterThan(text, value),
    .isLessThanOrEqualTo(text, value), .isGreaterThanOrEqualTo(text, value), .orderBy(text, flag), .limitTo(number),
    .limitToLast(number),
  ]
  _ = predicates
  // row: QueryPredicate.whereField(_:…) / .where(_:…)
  let factories: [QueryPredicate] = [
    .whereField(text, isEqualTo: value),
    .whereField(text, isIn: values),
    .whereField(text, isNotIn: values),
    .whereField(text, arrayContains: value),
    .whereField(text, arrayContainsAny: values),
    .whereField(text, isLessThan: value),
    .whereField(text, isGreaterThan: value),
    .whereField(text, isLessThanOrEqualTo: value),
    .whereField(text, isGreaterThanOrEqualTo: value),
    .where(text, isEqualTo: value),
    .where(text, isIn: values),
    .where(text, isNotIn: values),
    .where(field: text, arrayContains: value),
    .where(text, arrayContainsAny: values),
    .where(text, isLessThan: value),
    .where(text, isGreaterThan: value),
    .where(text, isLessThanOrEqualTo: value),
    .where(text, isGreaterThanOrEqualTo: value),
  ]
  _ = factories
  // row: QueryPredicate.order(by: String, descending: Bool = false), .limit(to: Int), .limit(toLast: Int)
  let _: [QueryPredicate] = [
    .order(by: text), .order(by: text, descending: flag), .limit(to: number), .limit(toLast: number),
  ]
}
