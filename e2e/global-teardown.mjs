// Completes the cluster's record. The release stays; the run that created the cluster deletes it.
export default async function tearDown() {
  await globalThis.uswarmRecorder?.finish();
}
