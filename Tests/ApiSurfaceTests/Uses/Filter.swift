import Hearth

// section: Filter

func useFilter(text: String, value: Any, path: FieldPath, values: [Any], filters: [Filter]) {
  // row: class func whereField(_ field: String, isEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(text, isEqualTo: value)
  // row: class func whereField(_ path: FieldPath, isEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(path, isEqualTo: value)
  // row: class func whereField(_ field: String, isNotEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(text, isNotEqualTo: value)
  // row: class func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(path, isNotEqualTo: value)
  // row: class func whereField(_ field: String, isGreaterThan value: Any) -> Filter
  let _: Filter = Filter.whereField(text, isGreaterThan: value)
  // row: class func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Filter
  let _: Filter = Filter.whereField(path, isGreaterThan: value)
  // row: class func whereField(_ field: String, isGreaterOrEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(text, isGreaterOrEqualTo: value)
  // row: class func whereField(_ path: FieldPath, isGreaterOrEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(path, isGreaterOrEqualTo: value)
  // row: class func whereField(_ field: String, isLessThan value: Any) -> Filter
  let _: Filter = Filter.whereField(text, isLessThan: value)
  // row: class func whereField(_ path: FieldPath, isLessThan value: Any) -> Filter
  let _: Filter = Filter.whereField(path, isLessThan: value)
  // row: class func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(text, isLessThanOrEqualTo: value)
  // row: class func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Filter
  let _: Filter = Filter.whereField(path, isLessThanOrEqualTo: value)
  // row: class func whereField(_ field: String, arrayContains value: Any) -> Filter
  let _: Filter = Filter.whereField(text, arrayContains: value)
  // row: class func whereField(_ path: FieldPath, arrayContains value: Any) -> Filter
  let _: Filter = Filter.whereField(path, arrayContains: value)
  // row: class func whereField(_ field: String, arrayContainsAny values: [Any]) -> Filter
  let _: Filter = Filter.whereField(text, arrayContainsAny: values)
  // row: class func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Filter
  let _: Filter = Filter.whereField(path, arrayContainsAny: values)
  // row: class func whereField(_ field: String, in values: [Any]) -> Filter
  let _: Filter = Filter.whereField(text, in: values)
  // row: class func whereField(_ path: FieldPath, in values: [Any]) -> Filter
  let _: Filter = Filter.whereField(path, in: values)
  // row: class func whereField(_ field: String, notIn values: [Any]) -> Filter
  let _: Filter = Filter.whereField(text, notIn: values)
  // row: class func whereField(_ path: FieldPath, notIn values: [Any]) -> Filter
  let _: Filter = Filter.whereField(path, notIn: values)
  // row: class func orFilter(_ filters: [Filter]) -> Filter
  let _: Filter = Filter.orFilter(filters)
  // row: class func andFilter(_ filters: [Filter]) -> Filter
  let _: Filter = Filter.andFilter(filters)
}
