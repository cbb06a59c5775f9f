import { runCtl } from './ctl/run-ctl.js';

// uswarmctl, run by `npm run ctl`.
await runCtl(process.argv);
