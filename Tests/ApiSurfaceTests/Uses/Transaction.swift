import Hearth

// section: Transaction, TransactionOptions

func useTransaction(
  document: DocumentReference, transaction: Transaction, data: [String: Any], flag: Bool, values: [Any],
  fields: [AnyHashable: Any], number: Int, transactionOptions: TransactionOptions
) throws {
  // row: func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot
  let _: DocumentSnapshot = try transaction.getDocument(document)
  // row: func setData(_ data: [String: Any], forDocument document: DocumentReference) -> Transaction
  let _: Transaction = transaction.setData(data, forDocument: document)
  transaction.setData(data, forDocument: document)
  // row: func setData(_ data: [String: Any], forDocument document: DocumentReference, merge: Bool) -> Transaction
  let _: Transaction = transaction.setData(data, forDocument: document, merge: flag)
  transaction.setData(data, forDocument: document, merge: flag)
  // row: func setData(_ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]) ->
  //   Transaction
  let _: Transaction = transaction.setData(data, forDocument: document, mergeFields: values)
  transaction.setData(data, forDocument: document, mergeFields: values)
  // row: func updateData(_ fields: [AnyHashable: Any], forDocument document: DocumentReference) -> Transaction
  let _: Transaction = transaction.updateData(fields, forDocument: document)
  transaction.updateData(fields, forDocument: document)
  // row: func deleteDocument(_ document: DocumentReference) -> Transaction
  let _: Transaction = transaction.deleteDocument(document)
  transaction.deleteDocument(document)
  // row: TransactionOptions.init()
  let _: TransactionOptions = TransactionOptions()
  // row: TransactionOptions.maxAttempts: Int { get set }
  let _: Int = transactionOptions.maxAttempts
  transactionOptions.maxAttempts = number
}
