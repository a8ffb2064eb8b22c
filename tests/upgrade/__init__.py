"""The upgrade of a used installation of release 0.1.0, and the way back."""
