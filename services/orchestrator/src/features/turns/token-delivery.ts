/**
 * Runs deliveries of tokens one after the other, so that an older token never replaces a newer one.
 *
 * @param deliver creates the tokens and sends them
 */
export function createTokenDelivery(deliver: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => (last = last.catch(() => undefined).then(deliver));
}
