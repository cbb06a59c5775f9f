// Lets a child process run this workspace from its sources, so that no build can be stale:
//   node --conditions=uswarm-source --import ./from-source.mjs src/cli.ts
// Node strips the types itself; only imports that name the built `.js` file have to be led back.
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const fromSource = context.parentURL?.endsWith('.ts') === true && /^\.{1,2}\/.*\.js$/.test(specifier);
    return nextResolve(fromSource ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
