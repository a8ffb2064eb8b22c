"""As much of CommonMark as the conversion of a prompt to XML needs, without setext headings. Pure."""
