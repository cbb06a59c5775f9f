import { createRequire } from 'node:module';
import { types } from 'node:util';
import { TestEnvironment } from 'jest-environment-node';

const require = createRequire(import.meta.url);

/** The environment of Node.js, in which test files can use the packages that `resolver.mjs` shares. */
export default class SharingEnvironment extends TestEnvironment {
  constructor(...args) {
    super(...args);
    this.global.uswarmRequire = require;
    const { Error } = this.global;
    // Errors of shared packages and of Node.js itself are of the class outside of the sandbox.
    Object.defineProperty(Error, Symbol.hasInstance, {
      value(error) {
        return Function.prototype[Symbol.hasInstance].call(this, error) || (this === Error && types.isNativeError(error));
      },
    });
  }
}
