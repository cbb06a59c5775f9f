/** Another process holds the job: the transaction must not commit. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/** The process that handled the job has lost its lease, probably by a crash. Counts as a failure: the job may be the cause. */
export class AttemptLost extends Error {
  override name = 'AttemptLost';
}
