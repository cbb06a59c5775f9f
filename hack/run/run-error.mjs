/** Its message is all that the person at the terminal needs: no stack is shown. */
export class RunError extends Error {
  name = 'RunError';
}
