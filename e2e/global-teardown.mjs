// After them: the record of the cluster is completed. The release stays; whoever made the cluster removes it.
export default async function tearDown() {
  await globalThis.uswarmRecorder?.finish();
}
