"""Models: which there are (`catalog`), where their files lie (`sources`), made ready once (`prepare`), and run (`language_model`)."""
