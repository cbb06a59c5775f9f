/** Stops the servers that servers.mjs started, in reverse order. */
export default async function stopServers() {
  await globalThis.uswarmTestServers?.disposeAsync();
}
