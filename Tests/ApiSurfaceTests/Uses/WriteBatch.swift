import Hearth

// section: WriteBatch

func useWriteBatch(
  batch: WriteBatch, data: [String: Any], document: DocumentReference, flag: Bool, values: [Any],
  fields: [AnyHashable: Any], done: @escaping ((any Error)?) -> Void
) {
  // row: func setData(_ data: [String: Any], forDocument document: DocumentReference) -> WriteBatch
  let _: WriteBatch = batch.setData(data, forDocument: document)
  batch.setData(data, forDocument: document)
  // row: func setData(_ data: [String: Any], forDocument document: DocumentReference, merge: Bool) -> WriteBatch
  let _: WriteBatch = batch.setData(data, forDocument: document, merge: flag)
  batch.setData(data, forDocument: document, merge: flag)
  // row: func setData(_ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]) ->
  //   WriteBatch
  let _: WriteBatch = batch.setData(data, forDocument: document, mergeFields: values)
  batch.setData(data, forDocument: document, mergeFields: values)
  // row: func updateData(_ fields: [AnyHashable: Any], forDocument document: DocumentReference) -> WriteBatch
  let _: WriteBatch = batch.updateData(fields, forDocument: document)
  batch.updateData(fields, forDocument: document)
  // row: func deleteDocument(_ document: DocumentReference) -> WriteBatch
  let _: WriteBatch = batch.deleteDocument(document)
  batch.deleteDocument(document)
  // row: func commit()
  batch.commit()
  // row: func commit(completion: (((any Error)?) -> Void)? = nil)
  batch.commit(completion: done)
  batch.commit()
}

func useWriteBatchAsync(batch: WriteBatch) async throws {
  // row: func commit() async throws
  try await batch.commit()
}
