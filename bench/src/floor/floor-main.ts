import { listen } from '@uswarm/service-kit';
import type { FloorScript } from '../replay/script.js';
import { createFloorApp, openPool } from './floor-app.js';

// The floor: a process of its own, as the orchestrator is. It ends with the one that started it.
process.once('message', (script: FloorScript) => {
  const pool = openPool(script);
  void listen(createFloorApp(script, pool), { host: '127.0.0.1', port: 0 }).then(({ url }) => process.send?.({ url }));
});
process.once('disconnect', () => process.exit(0));
