import { LocalError, MissingPartError } from '../local-error.js';
import { vale } from '../go/vale.js';

// Prints where Vale is, as JSON `{"path": …}`, or what this machine lacks to build it, `{"missing": …}`.
try {
  console.log(JSON.stringify({ path: await vale() }));
} catch (error) {
  if (error instanceof MissingPartError) {
    console.log(JSON.stringify({ missing: error.missing }));
  } else if (error instanceof LocalError) {
    console.error(error.message);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
