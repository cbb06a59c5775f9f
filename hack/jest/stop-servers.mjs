// After the integration tests: stops what servers.mjs started, last one first.
export default async function stopServers() {
  for (const close of (globalThis.uswarmTestServers ?? []).toReversed()) await close();
}
