// Lets a child process run this workspace from its sources, so that a stale build cannot be used:
//   node --conditions=uswarm-source --import ./from-source.mjs src/cli.ts
// Node strips types; this hook resolves imports of `.js` files to `.ts`.
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const fromSource = context.parentURL?.endsWith('.ts') === true && /^\.{1,2}\/.*\.js$/.test(specifier);
    return nextResolve(fromSource ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
