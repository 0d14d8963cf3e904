"""What comes out of a simulation, in files: results, exports, and checkpoints from which a run goes on."""
