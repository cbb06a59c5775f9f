import { LocalError, MissingPartError } from '@uswarm/dev-servers';
import { vale } from '../go/vale.js';

// Prints the path of Vale as JSON, `{"path": …}`, or the reason why it cannot be built, `{"missing": …}`.
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
