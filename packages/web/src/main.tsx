import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { Boundary } from './ui/boundary.js';
import './theme/tokens.css';
import './theme/base.css';
import { showTheme } from './theme/theme.js';

showTheme();
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <Boundary>
        <App />
      </Boundary>
    </StrictMode>,
  );
