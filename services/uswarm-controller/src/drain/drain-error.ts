/** A failure that ends the drain. The message is printed to the operator. */
export class DrainError extends Error {
  override name = 'DrainError';
}
