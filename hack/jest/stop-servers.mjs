// Stops the servers that servers.mjs started, in reverse order.
export default async function stopServers() {
  for (const close of (globalThis.uswarmTestServers ?? []).toReversed()) await close();
}
