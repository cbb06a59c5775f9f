import { listen } from '@uswarm/service-kit';
import type { FloorScript } from '../replay/script.js';
import { createFloorApp, openPool } from './floor-app.js';

// The floor runs in a separate process, like the orchestrator. It exits with its parent.
process.once('message', (script: FloorScript) => {
  const pool = openPool(script);
  void listen(createFloorApp(script, pool), { host: '127.0.0.1', port: 0 }).then(({ url }) => process.send?.({ url }));
});
process.once('disconnect', () => process.exit(0));
