import { createRequire } from 'node:module';
import { types } from 'node:util';
import { configureGlobal } from 'fast-check';
import { TestEnvironment } from 'jest-environment-node';

// Properties have the same cases in each run, so that a change is never red for a case that it did not add. With `--all` each run
// has new ones. A single test can be given another seed: `fc.assert(property, { seed })`.
if (process.env.USWARM_ALL_TESTS !== '1') configureGlobal({ seed: 1 });

const require = createRequire(import.meta.url);

/** The environment of Node.js, in which test files can use the packages that `resolver.mjs` shares. */
export default class SharingEnvironment extends TestEnvironment {
  constructor(...args) {
    super(...args);
    this.global.uswarmRequire = require;
    const { Date, Error, Promise, URIError } = this.global;
    recognize(Date, types.isDate);
    recognize(Error, types.isNativeError);
    recognize(Promise, types.isPromise);
    recognize(URIError, (object) => types.isNativeError(object) && object.name === 'URIError');
  }
}

/** Lets `instanceof` recognize objects from shared packages and Node.js, whose classes are outside the sandbox. */
function recognize(constructor, isInstance) {
  Object.defineProperty(constructor, Symbol.hasInstance, {
    value(object) {
      // Subclasses inherit this method.
      return Function.prototype[Symbol.hasInstance].call(this, object) || (this === constructor && isInstance(object));
    },
  });
}
