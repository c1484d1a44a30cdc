internal import HearthStore

extension CacheInvariants {
  /// The queue and its counters.
  static let outboxRules = [
    RowRule(
      "cache_mutation_batches", "its user has a row in cache_users",
      "SELECT CAST(batch_id AS TEXT) FROM cache_mutation_batches WHERE user_id NOT IN (SELECT user_id FROM cache_users)"
    ),
    RowRule(
      "cache_batch_documents", "its batch is in the queue of its user",
      """
      SELECT user_id || ' ' || path || ' ' || batch_id FROM cache_batch_documents AS d WHERE NOT EXISTS (
        SELECT 1 FROM cache_mutation_batches AS b WHERE b.batch_id = d.batch_id AND b.user_id = d.user_id)
      """),
    RowRule(
      "cache_globals", "highest_batch_id is not lower than the number of a batch that is kept",
      "SELECT CAST(highest_batch_id AS TEXT) FROM cache_globals WHERE highest_batch_id < \(CacheGlobals.highestUsedBatchID)"
    ),
    RowRule(
      "cache_mutation_batches", "no other batch that is kept has its number",
      """
      SELECT CAST(batch_id AS TEXT) FROM (
        SELECT batch_id FROM cache_mutation_batches UNION ALL SELECT batch_id FROM cache_unreadable_batches
        UNION ALL SELECT batch_id FROM cache_rejected_batches)
      GROUP BY batch_id HAVING count(*) > 1
      """),
    RowRule(
      "cache_sent_marks", "its user has a row in cache_users, or is the one of removed users",
      """
      SELECT CAST(user_id AS TEXT) FROM cache_sent_marks
      WHERE user_id <> \(MutationQueue.unknownUser) AND user_id NOT IN (SELECT user_id FROM cache_users)
      """),
    RowRule(
      "cache_sent_marks", "it is at most one reservation ahead of the batches",
      """
      SELECT CAST(user_id AS TEXT) FROM cache_sent_marks, cache_globals
      WHERE through < 0 OR through > highest_batch_id + \(SentMarks.reservation)
      """),
    RowRule(
      "cache_write_attempts", "it counts at least one attempt",
      "SELECT CAST(batch_id AS TEXT) FROM cache_write_attempts WHERE attempts < 1"),
    RowRule(
      "cache_base_documents", "its user has a pending batch for its document",
      """
      SELECT user_id || ' ' || path FROM cache_base_documents AS o WHERE NOT EXISTS (
        SELECT 1 FROM cache_batch_documents AS b WHERE b.user_id = o.user_id AND b.path = o.path)
      """),
  ]

  static let overlayRules = [
    RowRule(
      "cache_overlays", "its largest batch is the last pending one of its user for its document",
      """
      SELECT user_id || ' ' || path FROM cache_overlays AS o WHERE largest_batch_id IS NOT (
        SELECT max(batch_id) FROM cache_batch_documents AS b WHERE b.user_id = o.user_id AND b.path = o.path)
      """),
    RowRule(
      "index_local_entries", "its owner has an overlay of its document, unless the index was dropped",
      """
      SELECT owner || ' ' || collection || '/' || id FROM index_local_entries AS e WHERE NOT EXISTS (
        SELECT 1 FROM cache_overlays AS o WHERE o.user_id = e.owner AND o.path = e.collection || '/' || e.id)
        AND number IN (SELECT number FROM index_definitions WHERE state = 1)
      """),
  ]

  /// Targets, their documents and their counters.
  static let targetRules = [
    RowRule(
      "cache_globals", "target_count is the number of targets",
      """
      SELECT CAST(target_count AS TEXT) FROM cache_globals WHERE target_count <> (SELECT count(*) FROM cache_targets)
      """),
    RowRule(
      "cache_globals", "highest_target_id is even and not lower than the number of a target",
      """
      SELECT CAST(highest_target_id AS TEXT) FROM cache_globals WHERE highest_target_id & 1
        OR highest_target_id < max(coalesce((SELECT max(target_id) FROM cache_targets), 0),
          coalesce((SELECT max(target_id) FROM cache_removed_targets), 0))
      """),
    RowRule(
      "cache_target_documents", "its target has a row or was removed",
      """
      SELECT target_id || ' ' || path FROM cache_target_documents WHERE target_id NOT IN (
        SELECT target_id FROM cache_targets UNION ALL SELECT target_id FROM cache_removed_targets)
      """),
    RowRule(
      "cache_removed_targets", "it has no row in cache_targets",
      "SELECT CAST(target_id AS TEXT) FROM cache_removed_targets WHERE target_id IN (SELECT target_id FROM cache_targets)"
    ),
    RowRule(
      "cache_targets", "its resume token is of a snapshot that was applied",
      """
      SELECT CAST(target_id AS TEXT) FROM cache_targets AS t, cache_globals AS g WHERE resume_token <> x'' AND (
        (t.snapshot_seconds, t.snapshot_nanos) > (g.snapshot_seconds, g.snapshot_nanos)
        OR (t.snapshot_seconds, t.snapshot_nanos) = (0, 0))
      """),
    RowRule(
      "cache_targets", "its view was without documents in limbo at a snapshot that was applied",
      """
      SELECT CAST(target_id AS TEXT) FROM cache_targets AS t, cache_globals AS g
      WHERE (limbo_free_seconds, limbo_free_nanos) > (g.snapshot_seconds, g.snapshot_nanos)
        AND (limbo_free_seconds, limbo_free_nanos) > (t.snapshot_seconds, t.snapshot_nanos)
      """),
    RowRule(
      "cache_globals", "highest_sequence_number is not lower than that of a use",
      """
      SELECT CAST(highest_sequence_number AS TEXT) FROM cache_globals WHERE highest_sequence_number < max(
        coalesce((SELECT max(sequence_number) FROM cache_targets), 0),
        coalesce((SELECT max(sequence_number) FROM cache_target_documents), 0),
        coalesce((SELECT max(sequence_number) FROM cache_dropped_targets), 0),
        coalesce((SELECT max(sequence_number) FROM cache_document_uses), 0))
      """),
  ]

  /// The marks of garbage collection of what was least recently used.
  static let useRules = [
    RowRule(
      "cache_document_uses", "is_unneeded says whether a target or a pending batch refers to its document",
      "SELECT path FROM cache_document_uses WHERE is_unneeded <> \(DocumentUses.isUnneeded)"),
    RowRule(
      "documents", "a target, a pending batch or a mark of its use leads to it, so that it can be collected",
      """
      SELECT c.path || '/' || d.id AS name FROM documents AS d JOIN collections AS c ON c.number = d.collection
      WHERE NOT EXISTS (SELECT 1 FROM cache_document_uses WHERE path = c.path || '/' || d.id)
        AND NOT EXISTS (SELECT 1 FROM cache_target_documents WHERE path = c.path || '/' || d.id)
        AND NOT EXISTS (SELECT 1 FROM cache_batch_documents WHERE path = c.path || '/' || d.id)
      """),
  ]

  /// The rules of outcomes and refused batches, which are kept after their writes have left the queue.
  static let keptRules =
    ["cache_unreadable_batches", "cache_rejected_batches"].map { table in
      RowRule(
        table, "its user has a row in cache_users, or is not known",
        """
        SELECT CAST(batch_id AS TEXT) FROM \(table)
        WHERE user_id <> \(MutationQueue.unknownUser) AND user_id NOT IN (SELECT user_id FROM cache_users)
        """)
    }
    // Outcomes that are kept for a shorter time count as older ones.
    + [
      ("cache_rejected_batches", "batch_id", 0), ("cache_write_outcomes", "number", -OutcomeTable.maximumAgeSeconds),
    ].map { table, key, start in
      RowRule(
        table, "it was kept at a time that the cache's own scale has reached",
        """
        SELECT CAST(\(key) AS TEXT) FROM \(table), cache_globals WHERE kept_at < \(start) OR kept_at > keeping_seconds
        """)
    }

  /// Clients, their targets, the lease and the notices.
  static let clientRules = [
    RowRule(
      "cache_sharing",
      "highest_client_id is not lower than the number of a client, of the holder of the lease or of its heir",
      """
      SELECT CAST(highest_client_id AS TEXT) FROM cache_sharing WHERE highest_client_id < max(
        lease_holder, lease_heir, coalesce((SELECT max(client_id) FROM cache_clients), 0))
      """),
    RowRule(
      "cache_sharing", "notices were removed up to one that was written",
      """
      SELECT CAST(trimmed_through AS TEXT) FROM cache_sharing
      WHERE trimmed_through > (SELECT coalesce(max(number), 0) FROM cache_notices)
      """),
    RowRule(
      "cache_clients", "it has read notices up to one that was written",
      """
      SELECT CAST(client_id AS TEXT) FROM cache_clients
      WHERE seen > (SELECT coalesce(max(number), 0) FROM cache_notices)
      """),
    RowRule(
      "cache_client_targets", "its client has a row in cache_clients",
      """
      SELECT client_id || ' ' || target_id FROM cache_client_targets
      WHERE client_id NOT IN (SELECT client_id FROM cache_clients)
      """),
    RowRule(
      "cache_client_targets", "its target has a row in cache_targets",
      """
      SELECT client_id || ' ' || target_id FROM cache_client_targets
      WHERE target_id NOT IN (SELECT target_id FROM cache_targets)
      """),
    RowRule(
      "cache_current_targets", "a target does not both agree with the backend and disagree for good",
      "SELECT CAST(target_id AS TEXT) FROM cache_current_targets WHERE -target_id IN (SELECT target_id FROM cache_current_targets)"
    ),
    RowRule(
      "cache_followed_targets", "its lease has been given",
      """
      SELECT CAST(target_id AS TEXT) FROM cache_followed_targets, cache_sharing
      WHERE cache_followed_targets.lease_number > cache_sharing.lease_number
      """),
    RowRule(
      "cache_notices", "its batch has been queued",
      """
      SELECT CAST(number AS TEXT) FROM cache_notices, cache_globals
      WHERE kind IN (\(Notice.Kind.batchQueued.rawValue), \(Notice.Kind.batchAnswered.rawValue))
        AND subject > highest_batch_id
      """),
  ]
}
